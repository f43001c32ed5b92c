package simtest_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A game is written as one line, as in testdata/known.txt:
//
//	seed=260 nodes=2 late features=web,threads: 17.8s restart store who=1 d=969ms; 20.8s status who=2 with=away
//
// These are the fields of game, and then its acts: when, what, and the other fields of act. What is zero is left out.

func (g game) String() string {
	words := []string{fmt.Sprint("seed=", g.seed), fmt.Sprint("nodes=", g.nodes)}
	if g.slow {
		words = append(words, "slow")
	}
	if g.late {
		words = append(words, "late")
	}
	for i, f := range g.features {
		if i == 0 {
			words = append(words, "features="+string(f))
		} else {
			words[len(words)-1] += "," + string(f)
		}
	}
	acts := make([]string, len(g.acts))
	for i, a := range g.acts {
		acts[i] = a.String()
	}
	return strings.Join(words, " ") + ": " + strings.Join(acts, "; ")
}

func (a act) String() string {
	s := fmt.Sprint(a.at, " ", a.do)
	if a.who != 0 {
		s += fmt.Sprint(" who=", a.who)
	}
	if a.node != 0 {
		s += fmt.Sprint(" node=", a.node)
	}
	if a.d != 0 {
		s += fmt.Sprint(" d=", a.d)
	}
	if a.with != "" {
		s += " with=" + a.with
	}
	return s
}

// parseGame parses what game.String returns.
func parseGame(line string) (g game, err error) {
	head, acts, _ := strings.Cut(line, ": ")
	for _, word := range strings.Fields(head) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "seed":
			g.seed, err = strconv.ParseUint(value, 10, 64)
		case "nodes":
			g.nodes, err = strconv.Atoi(value)
		case "slow":
			g.slow = true
		case "late":
			g.late = true
		case "features":
			for f := range strings.SplitSeq(value, ",") {
				g.features = append(g.features, feature(f))
			}
		default:
			err = fmt.Errorf("a game has no %q", word)
		}
		if err != nil {
			return g, err
		}
	}
	for text := range strings.SplitSeq(acts, "; ") {
		a, err := parseAct(text)
		if err != nil {
			return g, err
		}
		g.acts = append(g.acts, a)
	}
	return g, nil
}

// parseAct parses what act.String returns.
func parseAct(text string) (a act, err error) {
	at, rest, _ := strings.Cut(text, " ")
	if a.at, err = time.ParseDuration(at); err != nil {
		return a, err
	}
	var do []string
	for _, word := range strings.Fields(rest) {
		name, value, isField := strings.Cut(word, "=")
		switch {
		case !isField:
			do = append(do, word)
		case name == "who":
			a.who, err = strconv.Atoi(value)
		case name == "node":
			a.node, err = strconv.Atoi(value)
		case name == "d":
			a.d, err = time.ParseDuration(value)
		case name == "with":
			a.with = value
		default:
			err = fmt.Errorf("an act has no %q", word)
		}
		if err != nil {
			return a, err
		}
	}
	a.do = strings.Join(do, " ")
	return a, nil
}
