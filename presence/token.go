package presence

// A Token names a page's connection: by the connection's id, its user and its topics,
// signed with the fleet's secret. With the token the page may beat and leave at any node.
// No client can make one up.
//
// It is "<id>~<user>~<topic>~…~<MAC>", with user and MAC in base64url. Where the connection
// holds the user's device, user is the device's member of backend.DevicesTopic: whoever beats for a
// topic beats for the device. user has the tenant, also for a guest, and the topics are as
// pages know them. A token has at most about 2.4 KiB.
type Token string

// A MAC authenticates a text: 16 bytes of HMAC-SHA256.
type MAC [16]byte
