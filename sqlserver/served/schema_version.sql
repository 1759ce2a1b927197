-- The tables answer; their schema is not ours to number.
SELECT COUNT(*) FROM (SELECT TOP (1) {{.Key}} AS k FROM {{.Slots}}) AS one;
