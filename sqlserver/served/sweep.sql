-- There are no holds: nothing is freed.
SELECT 0 AS freed;
