-- @table, quoted: its columns, whether an index without a filter begins with
-- one, and whether one is unique by itself.
SELECT c.name, TYPE_NAME(c.system_type_id), c.max_length, c.precision, c.scale, COALESCE(c.collation_name, ''),
       CASE WHEN EXISTS (SELECT 1 FROM sys.indexes AS i
                         INNER JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
                         WHERE i.object_id = c.object_id AND ic.column_id = c.column_id AND ic.key_ordinal = 1
                           AND i.type IN (1, 2) AND i.is_disabled = 0 AND i.has_filter = 0) THEN 1 ELSE 0 END,
       CASE WHEN EXISTS (SELECT 1 FROM sys.indexes AS i
                         INNER JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
                         WHERE i.object_id = c.object_id AND ic.column_id = c.column_id AND ic.key_ordinal = 1
                           AND i.is_unique = 1 AND i.is_disabled = 0 AND i.has_filter = 0
                           AND NOT EXISTS (SELECT 1 FROM sys.index_columns AS more
                                           WHERE more.object_id = i.object_id AND more.index_id = i.index_id
                                             AND more.key_ordinal > 1)) THEN 1 ELSE 0 END
FROM sys.columns AS c
WHERE c.object_id = OBJECT_ID(@table, 'U');
