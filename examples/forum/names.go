package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/rollcall-go/rollcall/presence"
)

const (
	maxNameLen = 32 // characters, combining marks not counted
	maxMarks   = 4  // combining marks on one letter: Vietnamese, Thai and Hebrew names need at most three
)

// nameRule is what an error page says about names.
const nameRule = "A name has 1 to 32 characters: letters of any language, digits, “-”, “_”, “.”, “'”, and spaces between words."

// userNamed returns the user who signs in with a name, and false if the name is
// not allowed. "María José" is shown as typed, and its id is "maría-josé".
//
// Names with the same id are the same user: "Alice" and "alice", "Al B" and "al-b". A keyboard may send "é" as
// one character, or as "e" and a combining accent; both become the one character.
func userNamed(name string) (presence.User, bool) {
	if !utf8.ValidString(name) {
		return presence.User{}, false
	}
	name = norm.NFC.String(oneSpace(name))
	if !validName(name) {
		return presence.User{}, false
	}
	id := strings.ReplaceAll(strings.ToLower(name), " ", "-")
	user := presence.User{ID: presence.UserID(id), Name: name, Group: members[presence.UserID(id)]}
	return user, user.Validate() == nil // a name with many marks may be too long
}

// oneSpace returns a name without the spaces around it, and with one space for
// each run of spaces within it.
func oneSpace(name string) string {
	if name = strings.TrimSpace(name); !strings.Contains(name, "  ") {
		return name
	}
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' }), " ")
}

// validName reports whether a name in its composed form has only the characters of nameRule. A combining mark
// belongs to the letter before it.
func validName(name string) bool {
	characters, marks, onLetter := 0, 0, false
	for _, r := range name {
		if unicode.IsMark(r) {
			if marks++; !onLetter || marks > maxMarks {
				return false
			}
			continue
		}
		marks, onLetter = 0, unicode.IsLetter(r)
		if !onLetter && !unicode.IsDigit(r) && !strings.ContainsRune("-_.' ", r) {
			return false
		}
		characters++
	}
	return 1 <= characters && characters <= maxNameLen
}
