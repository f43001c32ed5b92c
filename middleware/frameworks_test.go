package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	echo5 "github.com/labstack/echo/v5"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/middleware/echov5"
	"github.com/rollcall-go/rollcall/middleware/ginv1"
	"github.com/rollcall-go/rollcall/presence"
)

// sessions5 is shop.sessions for Echo 5.
func (s *shop) sessions5(next echo5.HandlerFunc) echo5.HandlerFunc {
	return func(c *echo5.Context) error {
		c.Set("user", s.userOf(c.Request()))
		return next(c)
	}
}

func identify5(c *echo5.Context) (presence.User, bool) {
	name, _ := c.Get("user").(string)
	return presence.User{ID: presence.UserID(name)}, name != ""
}

func (s *shop) pages5(e *echo5.Echo) {
	e.GET("/page", func(c *echo5.Context) error { return c.Render(http.StatusOK, "home", "a page") })
	e.GET("/:user", func(c *echo5.Context) error { return c.String(http.StatusNotFound, "no user "+c.Param("user")) })
	e.POST("/logout", func(c *echo5.Context) error { return rollcall.From(c.Request().Context()).SignOff(c.Request()) })
}

func (s *shop) sessionsGin(c *gin.Context) { c.Set("user", s.userOf(c.Request)) }

func identifyGin(c *gin.Context) (presence.User, bool) {
	name := c.GetString("user")
	return presence.User{ID: presence.UserID(name)}, name != ""
}

func (s *shop) pagesGin(r gin.IRoutes) {
	r.GET("/page", func(c *gin.Context) { c.Render(http.StatusOK, ginv1.HTML(c, s.site, "home", "a page")) })
	r.GET("/:user", func(c *gin.Context) { c.String(http.StatusNotFound, "no user %s", c.Param("user")) })
	r.POST("/logout", func(c *gin.Context) {
		if err := rollcall.From(c.Request.Context()).SignOff(c.Request); err != nil {
			_ = c.AbortWithError(http.StatusInternalServerError, err)
		}
	})
}

// The wirings of Echo 5 and gin. In each Alice is one visitor.
func TestPresenceOfFrameworks(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	for name, tt := range map[string]struct {
		wire   func(*shop) http.Handler
		prefix string
		group  string
	}{
		"Echo 5": {func(s *shop) http.Handler {
			e := echo5.New()
			e.Use(s.sessions5, echov5.Presence(e, s.site, identify5))
			s.pages5(e)
			return e
		}, "/presence", ""},
		"gin": {func(s *shop) http.Handler {
			r := gin.New()
			r.Use(s.sessionsGin, ginv1.Presence(s.site, identifyGin))
			r.NoRoute(func(c *gin.Context) { c.String(http.StatusNotFound, "nothing here") })
			s.pagesGin(r)
			return r
		}, "/presence", ""},
		"a group of gin": {func(s *shop) http.Handler {
			r := gin.New()
			app := r.Group("/app")
			app.Use(s.sessionsGin, ginv1.Presence(s.site, identifyGin))
			app.Any("/presence/*path", func(*gin.Context) {})
			s.pagesGin(app)
			return r
		}, "/app/presence", "/app"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil, tt.prefix)
			server := s.site.Server("", tt.wire(s))
			served := httptest.NewUnstartedServer(nil)
			served.Config = server
			served.Start()
			t.Cleanup(served.Close)
			s.plays(served.URL, tt.group, tt.prefix)
			s.finds()
		})
	}
}

// The first page view tells of presence that stands before the sessions.
func TestPresenceOfFrameworksBeforeTheSessions(t *testing.T) {
	for name, wire := range map[string]func(*shop) http.Handler{
		"Echo 5": func(s *shop) http.Handler {
			e := echo5.New()
			e.Use(echov5.Presence(e, s.site, identify5), s.sessions5)
			s.pages5(e)
			return e
		},
		"gin": func(s *shop) http.Handler {
			r := gin.New()
			r.Use(ginv1.Presence(s.site, identifyGin), s.sessionsGin)
			s.pagesGin(r)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil, "")
			server := httptest.NewServer(wire(s))
			t.Cleanup(server.Close)
			newVisitor(t, server.URL, "").do("GET", "/page", "")
			s.finds()
			newVisitor(t, server.URL, "alice").do("GET", "/page", "")
			s.finds(presence.NoUser)
		})
	}
}
