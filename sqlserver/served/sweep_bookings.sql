-- There are no bookings: nothing is freed.
SELECT 0 AS freed;
