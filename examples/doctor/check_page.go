package main

import (
	"context"
	"mime"
	"net/http"
	"path"
	"strings"
)

// checkWidget looks for elements of presence in the page.
func checkWidget(_ context.Context, s *site) verdict {
	switch {
	case s.first.shows && s.first.src == "":
		return ok("The page shows presence.")
	case s.first.shows:
		return ok("The page shows presence, and looks for the endpoints at %s.", short(s.first.src))
	}
	return wrong("Put {{presenceHead}} and {{whosOnline \"site\"}} into the page's template, or give the address of a page that has them.",
		"The page shows no presence, although the endpoints answer at %s.", s.prefix.Path)
}

// checkEndpoints asks for the roster, which needs no stream.
func checkEndpoints(ctx context.Context, s *site) verdict {
	const mount = "Mount handlers.New under track.Config.Prefix, without http.StripPrefix, " +
		"and let the proxy pass that path on unchanged."
	a := s.roster()
	switch detail := a.detail(); {
	case s.reached():
		if a.status == http.StatusServiceUnavailable {
			return wrong("Look at the site's log: presence may have lost its store.", "The endpoints answer at %s that they know nothing: %s.", s.prefix.Path, a.what())
		}
		return ok("The endpoints answer at %s.", s.prefix.Path)
	case ctx.Err() != nil || a.err != nil || a.busy():
		return unknown("The endpoints at %s gave %s.", s.prefix.Path, a.what())
	case detail != "":
		return wrong(mount, "The presence handler does not serve the path at which the page looks for it: %s says %q.", s.prefix.Path, detail)
	case a.status == http.StatusOK && a.url.Path != s.at("roster").Path:
		return wrong("Exempt the endpoints from redirects to a sign-in: they answer guests themselves.",
			"A request for the endpoints at %s is redirected to %s.", s.prefix.Path, short(a.url.Path))
	}
	return wrong(mount, "There are no presence endpoints at %s, where the page looks for them: %s.", s.prefix.Path, a.what())
}

// checkScript loads the script and the style of the page.
func checkScript(ctx context.Context, s *site) verdict {
	switch {
	case len(s.first.assets) == 0:
		return unknown("The page loads no script of presence, so its widget is not live unless htmx or Turbo keep it so.")
	case !s.reached():
		return unknown("The endpoints, from which the script comes, do not answer.")
	}
	for _, file := range s.first.assets {
		to, err := s.first.url.Parse(file)
		if err != nil || to.Host != s.first.url.Host {
			continue // of another host, such as a CDN
		}
		a := s.me.do(ctx, wish{url: to})
		kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
		want := map[string]string{".js": "text/javascript", ".css": "text/css"}[path.Ext(to.Path)]
		switch {
		case a.err != nil || a.busy():
			return unknown("%s gave %s.", short(to.Path), a.what())
		case a.status != http.StatusOK:
			return wrong("Set handlers.Config.Widget to widgets.Handler(), where widgets is what templates.New returned, and let the proxy pass the path on.",
				"The page's %s cannot be loaded: %s.", strings.TrimPrefix(path.Ext(to.Path), "."), a.what())
		case kind != want:
			return wrong("Let nothing change the answers under "+s.prefix.Path+"/assets/.",
				"%s has the type %q and not %q, so browsers refuse it.", short(to.Path), short(kind), want)
		}
	}
	return ok("The page's script and style load.")
}
