-- Who sees seen once the user is no longer invisible; '': no change.
ALTER TABLE rollcall_people ADD COLUMN last_later text NOT NULL DEFAULT '';
