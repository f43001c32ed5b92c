package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// The whole measurement runs on tiny databases, and each part checks what it counts.
func TestQuick(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "postgres" {
				need.Postgres(t)
			}
			t.Parallel()
			var out, log bytes.Buffer
			if err := lead(t.Context(), []string{"-quick", "-engines", engine}, &out, &log); err != nil {
				t.Fatalf("%v\n%s", err, log.String())
			}
			for _, want := range []string{"bell by one row", "SendTx", "relay", "at rest", "Laravel's table", "Flarum's table"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got no row with %q\n%s%s", want, out.String(), log.String())
				}
			}
		})
	}
}

// Numbers stand between tildes, in any event.
func TestNumbers(t *testing.T) {
	var got []int
	numbers([]byte(`{"items":[{"text":"a ~17~"},{"text":"b ~4~ ~x~"}]}`), func(n int) { got = append(got, n) })
	if len(got) != 2 || got[0] != 17 || got[1] != 4 {
		t.Errorf("got %d, want [17 4]", got)
	}
}
