// Package leak looks for goroutines that tests leave behind.
package leak

import (
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines have to end after the last test. goleak itself
// gives them about a second: too little for go-redis, which sleeps that long
// between two tries to connect, and then finds that its client is closed; and for
// a machine that has much else to do.
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
