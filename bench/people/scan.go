package main

// found is what a read holds.
type found struct {
	deliveries int     // joins and leaves of persons
	stamps     []int64 // when the joins among them were made
	read       int     // how much of it was read; the rest may be cut
}

// mark begins the moment of a join, in nanoseconds since 1970.
const mark = "~"

const stampDigits = 19

// scanJSON counts the keys of persons, "p12":{, in JSON.
func scanJSON(b []byte) found { return scan(b, '"', personKey) }

// scanXML counts the stanzas of presence.
func scanXML(b []byte) found { return scan(b, '<', presenceTag) }

// scan counts what begins with a byte and goes on as a function says: how long it is, 0 if it is
// another thing, and less than 0 if it is cut.
func scan(b []byte, begin byte, rest func([]byte) int) (f found) {
	for i := 0; i < len(b); {
		n := 0
		switch b[i] {
		case begin:
			if n = rest(b[i+1:]); n > 0 {
				f.deliveries++
			}
		case mark[0]:
			var at int64
			if at, n = readStamp(b[i+1:]); n > 0 {
				f.stamps = append(f.stamps, at)
			}
		}
		if n < 0 {
			f.read = i
			return f
		}
		i += 1 + n
	}
	f.read = len(b)
	return f
}

func personKey(b []byte) int {
	i := 0
	for _, part := range []string{"p", "", `":{`} {
		if part == "" {
			for i < len(b) && '0' <= b[i] && b[i] <= '9' {
				i++
			}
			continue
		}
		for k := range len(part) {
			switch {
			case i == len(b):
				return -1
			case b[i] != part[k]:
				return 0
			}
			i++
		}
	}
	return i
}

func presenceTag(b []byte) int {
	const tag = "presence"
	for i := range len(tag) {
		switch {
		case i == len(b):
			return -1
		case b[i] != tag[i]:
			return 0
		}
	}
	return len(tag)
}

// readStamp reads the digits of a moment.
func readStamp(b []byte) (at int64, length int) {
	for i := range stampDigits {
		switch {
		case i == len(b):
			return 0, -1
		case b[i] < '0' || b[i] > '9':
			return 0, 0
		}
		at = at*10 + int64(b[i]-'0')
	}
	return at, stampDigits
}
