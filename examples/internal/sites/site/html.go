package site

// Body is the page's body in html/template, for the sites that use that.
const Body = `<nav><a id="home" href="/">Home</a> <a id="members" href="/members">Members</a> <a id="room" href="/rooms/1">Room 1</a></nav>
<h1>{{.Title}}</h1>
{{if .User}}<p>Signed in as <b id="user">{{.User}}</b></p>
<form id="logout" method="post" action="/logout"><input type="hidden" name="csrf" value="{{.Token}}"><button>Sign out</button></form>
{{else}}<form id="login" method="post" action="/login"><input type="hidden" name="csrf" value="{{.Token}}"><input name="name"><button>Sign in</button></form>
{{end}}
<p id="count">{{onlineCount "site"}} online</p>
{{whosOnline "site"}}
{{if .Room}}{{whosOnline .Room}}{{end}}
<table>{{range .People}}<tr id="of-{{.}}"><th>{{.}}<td class="dot">{{onlineDot .}}<td class="seen">{{lastSeen .}}{{end}}</table>
`
