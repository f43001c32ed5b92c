-- Keeps an erasure, in place of an earlier one of the user.
-- $1 tenant, $2 user, $3 now, $4 when it may be claimed.
-- Returns asked.
-- Cost: one written row.
INSERT INTO rollcall_erasures (tenant, user_id, asked, due) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant, user_id) DO UPDATE SET
  asked = CASE WHEN rollcall_erasures.asked >= excluded.asked THEN rollcall_erasures.asked + 1 ELSE excluded.asked END,
  due = excluded.due
RETURNING asked
