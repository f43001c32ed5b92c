-- Prosody as Debian's /etc/prosody/prosody.cfg.lua has it, with websocket, and without s2s and TLS.
-- https://prosody.im/doc/websocket, https://prosody.im/doc/modules/mod_muc
modules_enabled = { "disco"; "roster"; "saslauth"; "smacks"; "ping"; "websocket" }
modules_disabled = { "s2s"; "offline" }
c2s_ports = {}
c2s_direct_tls_ports = {}
authentication = "internal_plain"
consider_websocket_secure = true
http_ports = { {{.Port}} }
http_interfaces = { "127.0.0.1" }
http_default_host = "localhost"
https_ports = {}
data_path = "{{.Dir}}"
pidfile = "{{.Dir}}/pid"
run_as_root = true
log = { { levels = { min = "warn" }, to = "console" } }
{{if .Resume}}
smacks_hibernation_time = {{.Resume}} -- 600
network_settings = { read_timeout = 10 } -- 840: then a client is asked, and cut when it does not answer
{{end}}
VirtualHost "localhost"
Component "conference.localhost" "muc"
muc_room_locking = false
