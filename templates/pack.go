package templates

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// pack returns a file packed by gzip, or "" if that is not smaller.
func pack(body string) string {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is one that there is
	}
	w.Write([]byte(body)) // a Buffer has no errors
	w.Close()
	if b.Len() >= len(body) {
		return ""
	}
	return b.String()
}

// wantsPacked reports whether the answer to r may be packed here. It may if the browser
// accepts gzip and asks for the whole file, unless a middleware before packs answers too:
// some, as Echo's, pack again what is packed.
func wantsPacked(w http.ResponseWriter, r *http.Request) bool {
	return acceptsGzip(r.Header) && r.Header.Get("Range") == "" &&
		w.Header().Get("Content-Encoding") == "" && !mayPack(w)
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

// packer matches the names of types, and of their packages, that pack what is written.
var packer = regexp.MustCompile(`(?i)gzip|gzhttp|compress|deflate|flate|brotli|zstd`)

// mayPack reports whether a writer may pack what is written to it. It does if one of the
// writers that it wraps is named like that, or if the innermost is not a server's own: then
// one without a method Unwrap hides what is behind it.
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
			return !isServer || t.Name() == "timeoutWriter" // that of http.TimeoutHandler
		}
		if w = wrapper.Unwrap(); w == nil {
			return true
		}
	}
}

// vary adds a header's name to Vary, unless it is there.
func vary(h http.Header, name string) {
	for _, names := range h.Values("Vary") {
		for there := range strings.SplitSeq(names, ",") {
			if strings.EqualFold(strings.TrimSpace(there), name) {
				return
			}
		}
	}
	h.Add("Vary", name)
}
