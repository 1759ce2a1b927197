-- @name and @table, both quoted: the text of the object of that name, whether it
-- is disabled, and whether it is a trigger of that table.
SELECT m.definition, t.is_disabled, CASE WHEN t.parent_id = OBJECT_ID(@table, 'U') THEN 1 ELSE 0 END
FROM sys.objects AS o
LEFT JOIN sys.triggers AS t ON t.object_id = o.object_id
LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
WHERE o.object_id = OBJECT_ID(@name);
