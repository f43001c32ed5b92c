// Package leak looks for goroutines that tests leave behind.
package leak

import (
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end after the last test. goleak's own limit of about a second
// is too short: go-redis sleeps that long between two attempts to connect before it sees that its client is
// closed, and machines may be busy.
const patience = 10 * time.Second

// VerifyTestMain runs a package's tests, and fails where a goroutine stays. It
// does not return.
func VerifyTestMain(m goleak.TestingM) { goleak.VerifyTestMain(patient{m}) }

type patient struct{ goleak.TestingM }

func (p patient) Run() int {
	code := p.TestingM.Run()
	for end := time.Now().Add(patience); code == 0 && goleak.Find() != nil && time.Now().Before(end); {
	}
	return code
}
