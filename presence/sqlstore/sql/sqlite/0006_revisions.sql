-- The revision of the settings: in milliseconds, when they were last changed, or greater by one than before.
ALTER TABLE rollcall_people ADD COLUMN rev integer NOT NULL DEFAULT 0;
