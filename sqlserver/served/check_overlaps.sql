-- These slots have no resource: nothing can overlap.
SELECT N'', N'' WHERE 1 = 0;
