// Package gzipped packs files by gzip for browsers that accept that.
package gzipped

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Pack returns a file packed by gzip, or "" if that is not smaller.
func Pack(body string) string {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	w.Write([]byte(body)) // a Buffer has no errors
	w.Close()
	if b.Len() >= len(body) {
		return ""
	}
	return b.String()
}

// Wanted reports whether to pack the answer to r here: if the browser accepts gzip, and no middleware before
// packs answers too. Some middlewares, such as Echo's,
// pack a packed answer again.
func Wanted(w http.ResponseWriter, r *http.Request) bool {
	return acceptsGzip(r.Header) && w.Header().Get("Content-Encoding") == "" && !mayPack(w)
}

func acceptsGzip(h http.Header) bool {
	for accepted := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, weight, weighted := strings.Cut(accepted, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		if !weighted {
			return true
		}
		_, weight, _ = strings.Cut(weight, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return err == nil && q > 0
	}
	return false
}

// packer matches the package and the name of a type that packs what is written to it.
var packer = regexp.MustCompile(`(?i)gzip|gzhttp|compress|deflate|flate|brotli|zstd`)

// mayPack reports whether a writer, or one that it wraps, may pack what is written to it. It looks
// for a type that packer matches. It also returns true if the last writer that Unwrap leads to is
// not one of net/http's server: that writer may wrap others and have no method Unwrap.
func mayPack(w http.ResponseWriter) bool {
	for {
		t := reflect.TypeOf(w)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if packer.MatchString(t.PkgPath() + "." + t.Name()) {
			return true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			isServer := strings.HasPrefix(t.PkgPath(), "net/http") || t.PkgPath() == "golang.org/x/net/http2"
			return !isServer || t.Name() == "timeoutWriter" // the writer of http.TimeoutHandler
		}
		if w = wrapper.Unwrap(); w == nil {
			return true
		}
	}
}

// Vary adds a header's name to Vary, unless it is there.
func Vary(h http.Header, name string) {
	for _, names := range h.Values("Vary") {
		for there := range strings.SplitSeq(names, ",") {
			if strings.EqualFold(strings.TrimSpace(there), name) {
				return
			}
		}
	}
	h.Add("Vary", name)
}
