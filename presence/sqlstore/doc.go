// Package sqlstore keeps what a site knows of people in a database: SQLite or PostgreSQL.
package sqlstore
