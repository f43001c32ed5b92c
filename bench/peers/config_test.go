package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/internal/need"
)

// Only the row with fixes has the lines that are marked so, and each value has its place.
func TestConfigurationOfEjabberd(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		text, err := ejabberdText(ejabberdValues{"15280", "/key", fixed})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"port: 15280\n", `jwt_key: "/key"`} {
			if !strings.Contains(text, want) {
				t.Errorf("fixed %v: there is no %q in\n%s", fixed, want, text)
			}
		}
		if got := strings.Contains(text, "mod_stream_mgmt"); got != fixed {
			t.Errorf("fixed %v: got stream management %v", fixed, got)
		}
		if strings.Contains(text, "{{") || strings.Contains(text, "<no value>") {
			t.Errorf("fixed %v: a value is missing in\n%s", fixed, text)
		}
	}
}

// A scenario that needs a second node has no cell for Prosody, which has one, and has one for all others.
func TestProsodyPlaysWhatOneNodeCan(t *testing.T) {
	var got strings.Builder
	for _, sc := range scenarios {
		if sc.possible(prosody) {
			got.WriteString(sc.letter + " ")
		}
	}
	if got.String() != "A D1 N M V F R J " {
		t.Errorf("got %s, want A D1 N M V F R J", got.String())
	}
}

func TestPatient(t *testing.T) {
	need.Program(t, "node", "node")
	if out, err := exec.Command("node", "patient_test.mjs").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
