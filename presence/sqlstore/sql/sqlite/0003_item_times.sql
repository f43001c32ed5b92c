-- When the mark "seen" of an inbox passed an item, and when the item was first read since it was
-- last unread; 0: not yet, or before these columns were there. Times are Unix milliseconds of the
-- database's clock.
ALTER TABLE rollcall_items ADD COLUMN seen_at bigint NOT NULL DEFAULT 0;
ALTER TABLE rollcall_items ADD COLUMN read_at bigint NOT NULL DEFAULT 0;
