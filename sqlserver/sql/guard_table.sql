-- @table, quoted: its schema, this login's own schema, whether it is memory-optimized.
SELECT OBJECT_SCHEMA_NAME(OBJECT_ID(@table, 'U')), SCHEMA_NAME(), OBJECTPROPERTY(OBJECT_ID(@table, 'U'), 'TableIsMemoryOptimized');
