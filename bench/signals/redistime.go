package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// commandTime returns how long the commands that publish took, in µs each, as Redis measures it:
// without reading and writing.
func commandTime(ctx context.Context, client *redis.Client) (float64, error) {
	info, err := client.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "cmdstat_publish" && name != "cmdstat_spublish" {
			continue
		}
		_, after, _ := strings.Cut(rest, "usec_per_call=")
		figure, _, _ := strings.Cut(after, ",")
		return strconv.ParseFloat(figure, 64)
	}
	return 0, errors.New("Redis has published nothing")
}
