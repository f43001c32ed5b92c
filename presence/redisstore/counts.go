package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

const (
	maxCounted  = 64 // how many topics' figures one script reads. That takes about 0.4 ms
	figuresEach = 8  // how many of its answers are of one topic
)

// Counts implements [backend.Store]. A single server runs one script for every 64 topics, a
// cluster one for each slot; all of them are one round trip.
func (s *fleet) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	return call(ctx, s.reads, "counts", func(ctx context.Context) ([]backend.Counts, error) {
		counts, crossed, err := s.counts(ctx, topics)
		if crossed {
			counts, _, err = s.counts(ctx, topics)
		}
		return counts, err
	})
}

// counts asks for the figures once. If crossed is true, the caller must ask again.
func (s *fleet) counts(ctx context.Context, topics []presence.Topic) (_ []backend.Counts, crossed bool, _ error) {
	groups := s.gather(topics, maxCounted)
	evals := make([]eval, len(groups))
	for i, group := range groups {
		evals[i].script = countsScript
		for _, j := range group {
			evals[i].keys = append(evals[i].keys, s.keys(topics[j], "head", "users", "current", "old", "guests", "before", "listed", "signed", "peak", "bots")...)
		}
	}
	answers, crossed, _ := s.runGathered(ctx, evals...) // each answer has its own error
	counts := make([]backend.Counts, len(topics))
	for i, group := range groups {
		figures, err := answers[i].Slice()
		if err == nil && len(figures) != figuresEach*len(group) {
			err = errAnswer
		}
		for k, j := range group {
			failed := err
			if failed == nil {
				counts[j], failed = countsOf(figures[figuresEach*k:][:figuresEach])
			}
			switch {
			case errors.Is(verdict(failed), presence.ErrRefused): // it concerns this topic alone
				counts[j] = backend.Counts{Unknown: true}
			case failed != nil:
				return nil, crossed, failed
			}
		}
	}
	return counts, crossed, nil
}

// countsOf returns the figures of a topic from an answer of counts in lua/read.lua.
func countsOf(answer []any) (backend.Counts, error) {
	var numbers [figuresEach]int
	var failed error
	texts := [figuresEach]string{string(backend.Origin)}
	var bots map[string]int
	for i, a := range answer {
		var err error
		switch a := a.(type) {
		case int64:
			numbers[i] = int(a)
		case string:
			texts[i] = a
		case nil: // no head, or no record
		case []any:
			bots, err = botsOf(a)
		case error:
			err = a
		default:
			err = errAnswer
		}
		if i < 6 { // a broken record or list of bots is none
			failed = errors.Join(failed, err)
		}
	}
	return backend.Counts{
		Head: presence.DiffID(texts[0]), Total: numbers[1], Recent: numbers[2] + numbers[3],
		Guests: guestsOf(numbers[5], numbers[4]), Peak: decodePeak(texts[6]), Bots: bots,
	}, failed
}

// Sightings implements [backend.Store].
func (s *fleet) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	if len(users) == 0 {
		return []backend.Sighting{}, nil
	}
	var records *redis.SliceCmd
	var seen *redis.FloatSliceCmd
	err := s.send(ctx, s.reads, "sightings", func(ctx context.Context, p redis.Pipeliner) {
		records = p.HMGet(ctx, s.key(topic, "users"), as[string](users)...)
		seen = p.ZMScore(ctx, s.key(topic, "seen"), as[string](users)...)
	})
	if err == nil && (len(records.Val()) != len(users) || len(seen.Val()) != len(users)) {
		err = wrap("sightings", errAnswer)
	}
	if err != nil {
		return nil, err
	}
	sightings := make([]backend.Sighting, len(users))
	for i, id := range users {
		record, ok := records.Val()[i].(string)
		if !ok {
			sightings[i].LastSeen = moment(int64(seen.Val()[i]))
			continue
		}
		m, err := decodeRecord(string(id), record)
		if err != nil {
			return nil, wrap("sightings", err)
		}
		sightings[i] = backend.Sighting{Online: true, Status: m.Status, Idle: m.Idle}
		sightings[i].Holders, sightings[i].Pages = holdersOf(record)
	}
	return sightings, nil
}

// Guests stand in two places (rule 8). Two sketches, "guests" and "before", have those of
// this period and of the one before. A list, the sorted set "listed", has the same guests by
// id and by the time when each was last counted. Every count of a guest goes to both.
//
// The list makes the number exact, and lets the store forget a guest: it rebuilds the
// sketches from the list. The list is complete while it has at most backend.ExactGuests
// (512). Over that it keeps the latest 513, and the sketches give the number. When the sets
// turn, older guests leave the list; if at most 512 remain it is complete again. A period
// that alone has more than 512 keeps one empty entry instead of ids, so a flood of guests
// takes no memory but that of the sketches.
//
// Over 512 a guest who signs in cannot leave a sketch. So the sorted set "signed" has such guests, up to 4,096, and the
// number is what the sketches say less those. Each is put into the sketch of this period as well, whether it was there
// or not, so the sketches have it exactly as long as "signed" has it.
//
// The list counts only where it agrees with the sketches:
//
//	12 listed, sketches say 12    the list is complete: 12, and each can be forgotten
//	513 listed, sketches say 900  too many for the list: 900
//	13 listed, sketches say 900   the empty entry of the period before, and 12 of this one: 900
//	12 listed, sketches say 40    the list was deleted, and has those who came since: 40

// guestsOf returns the number of guests, given the numbers from the list and from the sketches: that of the
// list if the list is complete and the two agree. isExact in lua/topic_kept.lua has the same tolerance; its
// caller checks the bound.
//
// A sketch has 16,384 registers. Of n guests about n*n/32768 share a register with another. That number
// varies by its square root, n/181, and so does the sketch's answer. The tolerance n/32+2 is exceeded once in
// ten million sketches.
func guestsOf(listed, sketched int) int {
	off := max(listed-sketched, sketched-listed)
	if listed <= backend.ExactGuests && off <= 2+listed/32 {
		return listed
	}
	return sketched
}

// decodePeak decodes "<total> <at> <since>", as lua/topic_kept.lua writes it. It returns no peak if that
// fails.
func decodePeak(text string) (p backend.Peak) {
	var at, since int64
	if _, err := fmt.Sscan(text, &p.Total, &at, &since); err != nil || p.Total < 0 {
		return backend.Peak{}
	}
	p.At, p.Since = moment(at), moment(since)
	return p
}

// botsOf returns how many bots each name has, from a list of names and numbers.
func botsOf(list []any) (map[string]int, error) {
	if len(list) == 0 {
		return nil, nil
	}
	bots := make(map[string]int, len(list)/2)
	for ; len(list) >= 2; list = list[2:] {
		name, ok := list[0].(string)
		n, ok2 := list[1].(int64)
		if !ok || !ok2 {
			return nil, errAnswer
		}
		bots[name] = int(n)
	}
	return bots, nil
}
