-- PostgreSQL notifies of changes from here on. SQLite's file shows them.
SELECT 1;
