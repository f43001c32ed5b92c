package main

import (
	"database/sql"
	"fmt"
)

// newLaravel is Laravel's table of notifications, as `php artisan make:notifications-table`
// makes it, with the statements of its models. FreeScout marks what is about a conversation
// by LIKE on the JSON.
func newLaravel(e *engine, db *sql.DB) (inbox, error) {
	const where = " notifiable_type = 'App\\Models\\User' AND notifiable_id = $1 AND notifiable_id IS NOT NULL"
	uuid := e.pick("lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(6)))", "gen_random_uuid()")
	at := e.pick("datetime(1760000000 + i, 'unixepoch')", "to_timestamp(1760000000 + i)::timestamp(0)")
	now := e.pick("datetime('now')", "now()")
	return &peer{e, db, statements{
		title: "Laravel's table", relation: "notifications",
		create: []string{fmt.Sprintf(`CREATE TABLE notifications (id %s PRIMARY KEY, type varchar(255) NOT NULL, notifiable_type varchar(255) NOT NULL,
			notifiable_id bigint NOT NULL, data text NOT NULL, read_at timestamp(0), created_at timestamp(0), updated_at timestamp(0))`, e.pick("varchar", "uuid"))},
		index: []string{"CREATE INDEX notifications_notifiable_type_notifiable_id_index ON notifications (notifiable_type, notifiable_id)"},
		insert: func(c crowd) string {
			return fmt.Sprintf(`INSERT INTO notifications SELECT %s, 'App\Notifications\Reply', 'App\Models\User', %s,
				'{"thread_id":' || i || ',"post_id":' || i || ',"title":"What are you listening to today?","text":"Alice and 3 others replied","url":"/threads/' || i || '#post-17"}',
				CASE WHEN %s THEN NULL ELSE %[4]s END, %[4]s, %[4]s FROM %[5]s AS s`, uuid, c.user(), c.unread(), at, e.series(c.rows))
		},
		countOf:    "SELECT count(*) FROM notifications WHERE" + where + " AND read_at IS NULL",
		listOf:     "SELECT * FROM notifications WHERE" + where + " ORDER BY created_at DESC LIMIT 20",
		someOf:     e.pick("SELECT id, json_extract(data, '$.thread_id')", "SELECT id::text, (data::json->>'thread_id')::int") + " FROM notifications WHERE" + where + " AND read_at IS NULL LIMIT $2",
		markOne:    "UPDATE notifications SET read_at = " + now + ", updated_at = " + now + " WHERE id = $1",
		markThread: "UPDATE notifications SET read_at = " + now + ", updated_at = " + now + " WHERE" + where + " AND read_at IS NULL AND data LIKE '%\"thread_id\":' || CAST(CAST($2 AS bigint) AS text) || ',%'",
		markAll:    "UPDATE notifications SET read_at = " + now + ", updated_at = " + now + " WHERE" + where + " AND read_at IS NULL",
		resetAll:   "UPDATE notifications SET read_at = NULL WHERE" + where,
	}}, nil
}
