package backend

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// A StatusStore keeps the status that a user chose (rule 13). Its Publish of a [NoticeStatus] keeps the
// status in the same step. Its Trim forgets statuses that were chosen long ago. Without it users choose a
// status only if the site keeps it, in a Directory.
type StatusStore interface {
	// Statuses returns the status that each user chose last, with its Order. It is zero
	// for a user whose choice is unknown or was trimmed (rule 13). It costs one round
	// trip.
	Statuses(ctx context.Context, users ...presence.UserID) ([]ChosenStatus, error)
}

// A ChosenStatus is a [Store]'s record of a user's choice. It is zero if the store has none.
type ChosenStatus struct {
	Status presence.Status
	Order  Order
}

// A SecretStore keeps the fleet's secret (rule 14). Without it the site sets
// track.Config.Secret.
type SecretStore interface {
	// Secret returns the fleet's secret. A store that has none keeps and returns the
	// offer (rule 14), which has 16 to 64 bytes. It costs one round trip.
	Secret(ctx context.Context, offer []byte) ([]byte, error)
}
