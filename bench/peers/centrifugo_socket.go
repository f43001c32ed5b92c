package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// A centrifugoReply is what comes from the server.
type centrifugoReply struct {
	ID       int                 `json:"id"`
	Error    json.RawMessage     `json:"error"`
	Presence *centrifugoPresence `json:"presence"`
	Push     *struct {
		Join, Leave *struct {
			Info struct {
				User   string `json:"user"`
				Client string `json:"client"`
			} `json:"info"`
		}
		Disconnect json.RawMessage
	} `json:"push"`
}

// The ids of a page's commands.
const (
	centrifugoHello = 1 + iota
	centrifugoSubscribe
	centrifugoAsk
)

const centrifugoAsks = `{"id":3,"presence":{"channel":"` + centrifugoChannel + `"}}`

// centrifugoConnect is a connection of the JSON protocol, until it ends. It answers pings.
// Without pushes, it reads over what is pushed.
func centrifugoConnect(ctx context.Context, addr, user string, pushes bool, each func(r centrifugoReply, say func(string) error)) error {
	conn, err := dialSocket(ctx, "ws://"+addr+"/connection/websocket")
	if err != nil {
		return err
	}
	defer conn.close()
	if err := conn.say(`{"id":1,"connect":{"token":"` + centrifugoToken(user) + `"}}`); err != nil {
		return err
	}
	for {
		frame, err := conn.read()
		if err != nil {
			return err
		}
		for line := range bytes.Lines(frame) {
			line = bytes.TrimSpace(line)
			if len(line) <= 2 {
				if err := conn.say("{}"); err != nil {
					return err
				}
				continue
			}
			if !pushes && bytes.HasPrefix(line, []byte(`{"push"`)) {
				continue
			}
			var r centrifugoReply
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			if r.ID != 0 && r.ID != centrifugoAsk && r.Error != nil {
				return fmt.Errorf("the server refuses: %s", r.Error)
			}
			if r.ID == centrifugoHello {
				if err := conn.say(`{"id":2,"subscribe":{"channel":"` + centrifugoChannel + `"}}`); err != nil {
					return err
				}
			}
			each(r, conn.say)
		}
	}
}
