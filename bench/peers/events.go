package main

import (
	"bufio"
	"io"
	"strings"
)

// scanEvents reads Server-Sent Events until the stream ends.
func scanEvents(r io.Reader, each func(id, event, data string)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	var id, event string
	var data []string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			data = append(data, value)
		}
		if lines.Text() == "" {
			if len(data) > 0 {
				each(id, event, strings.Join(data, "\n"))
			}
			id, event, data = "", "", nil
		}
	}
	return lines.Err()
}
