package sqlstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// A message is a row of the outbox that was read.
type message struct {
	feed.Message
	row    outboxRow
	err    error  // why it cannot be parsed
	reason string // "json" or "message"
}

// chooseRows returns the rows of the next batch, and whether there are more: rows of few recipients, or
// otherwise one with many. late has the ids of rows with many recipients that were inserted like rows with
// few.
func chooseRows(rows []outboxRow) (chosen []message, late []string, more bool) {
	slices.SortFunc(rows, func(a, b outboxRow) int {
		return cmp.Or(cmp.Compare(a.bulk, b.bulk), cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
	})
	var many []message
	items := 0
	for _, row := range rows {
		m := readMessage(row)
		if len(m.To) > manyRecipients || row.bulk == 1 {
			if row.bulk == 0 {
				late = append(late, row.id)
			}
			many = append(many, m)
			continue
		}
		items += max(1, len(m.To))
		if len(chosen) == relayedRows || items > relayedItems {
			more = true
			continue
		}
		chosen = append(chosen, m)
	}
	switch {
	case len(many) == 0:
	case len(chosen) == 0:
		chosen, more = many[:1], more || len(many) > 1
	default:
		more = true
	}
	return chosen, late, more
}

// maxRow is how many bytes of JSON a message may have. A valid message has fewer, however it is written. Of a
// longer one only so many are read: outbox_due.sql, outbox_one.sql.
const maxRow = 1 << 20

// readMessage parses a row that any program may have written.
func readMessage(row outboxRow) message {
	m := message{row: row}
	if len(row.message) > maxRow {
		m.err, m.reason = fmt.Errorf("%w: the row is larger than %d bytes", feed.ErrInvalidMessage, maxRow), "message"
		return m
	}
	if err := json.Unmarshal([]byte(row.message), &m.Message); err != nil {
		m.Message, m.err, m.reason = feed.Message{}, err, "json"
		return m
	}
	m.Tenant, m.To = row.tenant, eachOnce(m.To)
	if err := m.Validate(); err != nil {
		m.err, m.reason = err, "message"
		return m
	}
	if !utf8.ValidString(row.id) { // SQLite accepts such a row
		m.err, m.reason = fmt.Errorf("%w: the id of the row is not UTF-8", feed.ErrInvalidMessage), "message"
		return m
	}
	m.Message = m.WithDefaults(row.id)
	return m
}

// cleanText returns a text without the characters that PostgreSQL cannot store.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "?")
}
