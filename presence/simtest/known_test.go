package simtest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Games that failed once, by what goes on in them.
var known = []struct {
	name string
	game game
}{
	{"a page closes at a node that never knew its user's status, while the store is away", game{seed: 152, nodes: 4, slow: true, acts: []act{
		{at: 9879053552, do: "store away", d: 76080411070},
		{at: 59395458791, do: "navigate", who: 6, node: 2},
	}}},
	{"a node is deployed just as the store hangs", game{seed: 108, nodes: 2, slow: true, acts: []act{
		{at: 91353382244, do: "store hangs", d: 74021976737},
		{at: 94490566272, do: "deploy", d: 1426093222},
	}}},
	{"a user signs out at a node that does not reach the store, while a page loads slowly at another one", game{seed: 711130, nodes: 3, slow: true, acts: []act{
		{at: 7210536174, do: "come", who: 7, node: 1},
		{at: 10197663306, do: "navigate"},
		{at: 16045764675, do: "another page", who: 6, node: 2},
		{at: 18370669764, do: "another page", who: 6},
		{at: 25109685229, do: "navigate", who: 7, node: 1},
		{at: 26434586194, do: "navigate", node: 1},
		{at: 45880092645, do: "another page", node: 2},
		{at: 78259165320, do: "come", who: 3, node: 2},
		{at: 82701517280, do: "store hangs", who: 1, d: 20089796316},
		{at: 83117255100, do: "deploy", who: 2, d: 1985602327},
		{at: 84380673931, do: "sign out", who: 3, node: 1},
	}}},
	{"a page closes just as the store hangs", game{seed: 639, nodes: 4, acts: []act{
		{at: 14982986469, do: "store hangs", who: 2, d: 5673453127},
		{at: 15309888032, do: "navigate", node: 1},
	}}},
	{"pages close while the store hangs", game{seed: 431, nodes: 4, slow: true, acts: []act{
		{at: 60880099029, do: "store hangs", who: 2, d: 63081698062},
		{at: 73140512006, do: "navigate", node: 3},
		{at: 94138716188, do: "navigate", node: 2},
	}}},
	{"the store is away once more after it lost its data", game{seed: 260, nodes: 2, acts: []act{
		{at: 17891392869, do: "restart store", who: 1, d: 969576980},
		{at: 20837721468, do: "store away", who: 1, d: 3584063128},
	}}},
	{"the store loses its data twice", game{seed: 2041, nodes: 2, acts: []act{
		{at: 1639370185, do: "restart store", who: 1, d: 39656215},
		{at: 4534765044, do: "restart store", d: 424721579},
	}}},
	{"the store is away for long after it lost its data", game{seed: 124, nodes: 2, acts: []act{
		{at: 446524776, do: "view", who: 4},
		{at: 8206915962, do: "restart store", d: 824297091},
		{at: 8371287832, do: "view", who: 4},
		{at: 10883908303, do: "store away", who: 1, d: 3380570251},
	}}},
	{"a user turns invisible while a node is cut off", game{seed: 168, nodes: 4, slow: true, acts: []act{
		{at: 1600919894, do: "come twice", who: 7, node: 1},
		{at: 19843437085, do: "node cut off", d: 75015317060},
		{at: 24305005583, do: "navigate", who: 2, node: 3},
		{at: 50908622416, do: "come twice", who: 3, node: 1},
		{at: 53278763716, do: "navigate", who: 2},
		{at: 83983676040, do: "status", who: 2, node: 3, with: "online"},
		{at: 86404719355, do: "status", who: 2, node: 2, with: "invisible"},
	}}},
	{"a join waits at a node that is cut off, while its user turns away", game{seed: 2471, nodes: 4, slow: true, acts: []act{
		{at: 12907202820, do: "come", who: 3, node: 1},
		{at: 19876144429, do: "navigate", who: 2, node: 2},
		{at: 29430955202, do: "another page", who: 6},
		{at: 30458567169, do: "navigate", who: 2, node: 1},
		{at: 32512800663, do: "status", who: 2, node: 3, with: "online"},
		{at: 61553908321, do: "node cut off", who: 1, d: 85410125732},
		{at: 62295883274, do: "kill", d: 1779743331},
		{at: 86152901734, do: "status", who: 2, node: 2, with: "away"},
	}}},
	{"a user signs out while a stream is opened", game{seed: 1068, nodes: 2, acts: []act{
		{at: 7303353163, do: "deploy", who: 1, d: 482330953},
		{at: 8296552396, do: "slow way", who: 1, d: 1701109976},
		{at: 8669560124, do: "come twice", who: 7},
		{at: 9233241620, do: "sign out", who: 7},
	}}},
	{"a node starts just after the store is back", game{seed: 1220, nodes: 3, acts: []act{
		{at: 32589034166, do: "store away", d: 5809980042},
		{at: 35106607053, do: "deploy", who: 1, d: 453357488},
	}}},
	{"a sign-out that its node gave up comes late, after its user signed in again", game{seed: 800051, nodes: 4, late: true, acts: []act{
		{at: 9221844198, do: "node cut off", who: 3, d: 7958564812},
		{at: 9639391774, do: "come", who: 5, node: 2},
		{at: 9817941551, do: "come twice", who: 7, node: 3},
		{at: 10774919046, do: "sign out", who: 7, node: 3},
		{at: 16484481136, do: "come twice", who: 7},
	}}},
	{"a page closed at a node whose call hangs for longer than the lease holds", game{seed: 4975, nodes: 2, acts: []act{
		{at: 21231746515, do: "store hangs", d: 3502361744},
		{at: 21956369782, do: "deploy", who: 1, d: 1311543208},
	}}},
	{"a grace ends while what the store lost is restored", game{seed: 4546, nodes: 4, acts: []act{
		{at: 9690327620, do: "restart store", who: 2, d: 602884783},
		{at: 10135802136, do: "navigate", who: 2, node: 3},
		{at: 10730320743, do: "sign out", who: 7, node: 1},
		{at: 12477651238, do: "navigate", who: 2, node: 2},
		{at: 17673599891, do: "sign out", who: 1},
	}}},
	{"the release of an older page finds an expired grace", game{seed: 4315, nodes: 4, acts: []act{
		{at: 9694474360, do: "navigate", node: 2},
		{at: 9982725512, do: "come", who: 1, node: 1},
		{at: 10382490919, do: "come twice", who: 7, node: 3},
		{at: 11213037444, do: "navigate", who: 7, node: 1},
		{at: 12099102703, do: "come", who: 3, node: 2},
		{at: 12781337050, do: "navigate", who: 2, node: 1},
		{at: 13283140679, do: "restart store", who: 3, d: 337198512},
		{at: 13527321155, do: "navigate", who: 6},
		{at: 14921996381, do: "answers lost", who: 3},
	}}},
	{"a page moves to a node that lacks a join", game{seed: 1132, nodes: 3, acts: []act{
		{at: 17645953268, do: "lose diffs"},
		{at: 18631400541, do: "view", who: 4, node: 2},
		{at: 19464590692, do: "come twice", who: 5, node: 1},
		{at: 19874726435, do: "deploy", who: 2, d: 1166645769},
	}}},
	{"a page moves to a node that lacks a leave", game{seed: 2202, nodes: 2, acts: []act{
		{at: 8435418028, do: "lose diffs", who: 1},
		{at: 8727228993, do: "status", who: 2, with: "invisible"},
		{at: 9268967368, do: "come", who: 1},
		{at: 9303419130, do: "go", who: 1},
		{at: 10773280545, do: "deploy", who: 1, d: 1288079696},
	}}},
	{"a page moves to a node that lacks the join of a user who stays", game{seed: 2582, nodes: 4, acts: []act{
		{at: 9157081276, do: "lose diffs"},
		{at: 10462034950, do: "come", who: 3, node: 1},
		{at: 10723801876, do: "come twice", who: 1},
		{at: 11033072736, do: "come", who: 7, node: 1},
		{at: 11497138394, do: "kill", who: 3, d: 1998460098},
	}}},
	{"a store loses all data, the sign-outs too, after a user came back elsewhere", game{seed: 801042, nodes: 2, slow: true, acts: []act{
		{at: 24871931476, do: "come twice", who: 7, node: 1},
		{at: 59245927991, do: "sign out", who: 7, node: 1},
		{at: 69107352088, do: "come", who: 7, node: 1},
		{at: 90426517856, do: "flush", who: 1, d: 390414432},
		{at: 94773849314, do: "flush", d: 370550982},
	}}},
	{"a user signs out while a node starts", game{seed: 2450, nodes: 3, acts: []act{
		{at: 3326611202, do: "come", who: 7, node: 1},
		{at: 3891868770, do: "sign out", who: 7, node: 1},
		{at: 5508038081, do: "navigate"},
		{at: 8225704826, do: "store away", who: 2, d: 4612108682},
		{at: 8459439104, do: "navigate", who: 6, node: 1},
		{at: 9190782886, do: "deploy", who: 2, d: 622678495},
		{at: 13888297718, do: "come twice", who: 7, node: 1},
		{at: 14013248297, do: "sign out", who: 7},
	}}},
	{"a page's join and release wait at a node that is cut off, while its user turns away, in a directory", game{seed: 30136, nodes: 3, features: []feature{people}, acts: []act{
		{at: 17165388356, do: "node cut off", who: 1, d: 7206515830},
		{at: 17800652919, do: "status", who: 2, node: 2, with: "away"},
		{at: 22257994688, do: "navigate", who: 2},
	}}},
	{"a node that tells a program ends with the store's data, and a diff was lost on its way to the next one", game{seed: 711041, nodes: 2, late: true, features: []feature{consumer}, acts: []act{
		{at: 9780000000, do: "lose diffs"},
		{at: 9880000000, do: "come", who: 5},
		{at: 9970000000, do: "deploy", who: 1, d: 1335261596},
		{at: 9975000000, do: "restart store", d: 512349372},
	}}},
	{"all nodes are deployed while the store hangs, which then loses what a program was told", game{seed: 900328, nodes: 2, slow: true, features: []feature{consumer}, acts: []act{
		{at: 31766550723, do: "store hangs", d: 39341556110},
		{at: 31817976532, do: "kill", d: 1173482388},
		{at: 45940938086, do: "deploy", who: 1, d: 1116792070},
		{at: 46645936300, do: "restart store", who: 1, d: 8006021},
	}}},
	{"a user leaves and comes back in one tick of the store's clock, and a program is told", game{seed: 291, nodes: 3, late: true, features: []feature{consumer}, acts: []act{
		{at: 10008288241, do: "another page", who: 6, node: 2},
		{at: 11796265051, do: "status", who: 2, node: 2, with: "busy"},
		{at: 14748807320, do: "come", who: 7, node: 1},
		{at: 15184733060, do: "come", who: 1, node: 1},
		{at: 15309830374, do: "come", who: 5},
		{at: 15797093537, do: "navigate", who: 6, node: 1},
		{at: 15894371447, do: "another page", who: 6, node: 1},
		{at: 17469088322, do: "another page", node: 2},
		{at: 18641856753, do: "store hangs", who: 2, d: 4422631354},
		{at: 18711509464, do: "status", who: 2, with: "invisible"},
		{at: 18737550322, do: "navigate", who: 2, node: 1},
		{at: 22862478421, do: "store hangs", who: 2, d: 1009440834},
	}}},
	{"a store goes away while a node starts that it has not answered yet", game{seed: 51831, nodes: 3, slow: true, late: true, acts: []act{
		{at: 66085746205, do: "deploy", d: 337493609},
		{at: 66186510908, do: "store hangs", who: 2, d: 4147936855},
		{at: 66815098110, do: "store away", d: 17634489060},
	}}},
	{"a node starts in a long outage", game{seed: 50663, nodes: 2, slow: true, late: true, features: []feature{web}, acts: []act{
		{at: 8564878612, do: "kill", who: 1, d: 728475114},
		{at: 11658389428, do: "store hangs", d: 83700275008},
		{at: 94546885182, do: "store away", d: 12905413897},
		{at: 94595336126, do: "kill", d: 815903183},
	}}},
	{"a store loses once more what was restored, and a node does not notice", game{seed: 51461, nodes: 2, slow: true, late: true, acts: []act{
		{at: 37078182769, do: "restart store", d: 919481691},
		{at: 40555082340, do: "lose diffs", who: 1},
		{at: 40693972507, do: "lag", who: 1, d: 1249637530},
	}}},
	{"a user left and came back unchanged, whose join the log has no more, and a page resumes", game{seed: 730155, nodes: 4, late: true, features: []feature{web, threads}, acts: []act{
		{at: 2125040659, do: "enter", who: 2},
		{at: 3530233448, do: "evict", with: "log"},
		{at: 8397918137, do: "pause", who: 1, d: 5916782427},
		{at: 10977058353, do: "come twice", who: 1, node: 2},
		{at: 11352951959, do: "go", who: 1, node: 1},
		{at: 12152830950, do: "enter", who: 6},
		{at: 13071830479, do: "slow way", who: 3, d: 386323740},
		{at: 13238470049, do: "type", who: 7, d: 5060241205},
		{at: 14110314658, do: "lag", who: 2, d: 350323486},
		{at: 15334428393, do: "deploy", who: 3, d: 1194980394},
	}}},
	{"a page polls while a signal stands that came late", game{seed: 804439, nodes: 4, late: true, features: []feature{web, threads}, acts: []act{
		{at: 20018750311, do: "enter", who: 2},
		{at: 22685247298, do: "store hangs", who: 1, d: 4357443191},
		{at: 24246701568, do: "type", who: 2, d: 5619043417},
	}}},
	{"a grace ends in a short outage, of a page that has moved to a node that does not know its user's status yet", game{seed: 941, nodes: 3, late: true, features: []feature{consumer}, acts: []act{
		{at: 618147292, do: "node hangs", who: 2, d: 750000000},
		{at: 1863984848, do: "deploy", who: 1, d: 109559345},
		{at: 1984905937, do: "store away", who: 2, d: 490330254},
		{at: 2199176029, do: "navigate", node: 2},
		{at: 2255416450, do: "another page", who: 6, node: 1},
		{at: 2259456787, do: "navigate", who: 2, node: 2},
		{at: 2378126499, do: "status", who: 2, node: 2, with: "invisible"},
		{at: 2431125961, do: "sign out", who: 7, node: 1},
		{at: 2504381410, do: "navigate", who: 3, node: 1},
		{at: 2544472957, do: "status", who: 2, node: 1, with: "invisible"},
		{at: 2788934025, do: "navigate", who: 6, node: 1},
		{at: 3526070966, do: "view", who: 4, node: 2},
		{at: 3900220116, do: "sign out", who: 4, node: 1},
		{at: 5342672699, do: "another page", who: 6, node: 1},
		{at: 15235811282, do: "status", who: 2, node: 2, with: "invisible"},
	}}},
	{"a status that was refused is taken after a later one", game{seed: 20307, nodes: 2, slow: true, late: true, acts: []act{
		{at: 61278154162, do: "node cut off", d: 58378550420},
		{at: 63971397232, do: "status", who: 2, with: "invisible"},
		{at: 72046728605, do: "status", who: 2, node: 1, with: "away"},
	}}},
	{"a status that was refused is taken just as the next one is set", game{seed: 54377, nodes: 4, slow: true, late: true, acts: []act{
		{at: 33280115373, do: "node cut off", who: 2, d: 105609111947},
		{at: 33785948621, do: "status", who: 2, node: 2, with: "invisible"},
	}}},
	{"a user hides while a node is cut off that has a write under way as it comes back", game{seed: 804150, nodes: 4, slow: true, acts: []act{
		{at: 8864398832, do: "status", who: 2, node: 1, with: "busy"},
		{at: 14249119830, do: "node cut off", who: 1, d: 61333774138},
		{at: 64805683418, do: "navigate", who: 2, node: 1},
		{at: 70480493759, do: "status", who: 2, with: "invisible"},
	}}},
	{"a sign-out is refused, and the browser stays open", game{seed: 804252, nodes: 4, acts: []act{
		{at: 2044409703, do: "another page", node: 3},
		{at: 2302382981, do: "another page", node: 2},
		{at: 3232743020, do: "come twice", who: 5, node: 2},
		{at: 5503255391, do: "store away", who: 2, d: 5242080551},
		{at: 8155206835, do: "sign out", who: 5, node: 3},
		{at: 8446747221, do: "kill", who: 3, d: 655959347},
		{at: 21993739367, do: "status", who: 2, with: "away"},
	}}},
	{"a user changes in the millisecond in which a node tells that who watches people has gained sight", game{seed: 3078434, nodes: 4, features: []feature{people, settings}, acts: []act{
		{at: 865050433, do: "come", who: 1, node: 3},
		{at: 1319446701, do: "another page", who: 6},
		{at: 4949540721, do: "navigate", node: 3},
		{at: 5535044011, do: "navigate", who: 6, node: 1},
		{at: 5699274256, do: "navigate", who: 6, node: 3},
		{at: 6269413792, do: "come twice", who: 7, node: 1},
		{at: 8070944161, do: "navigate", who: 2},
		{at: 8821349841, do: "navigate", who: 2, node: 3},
		{at: 8859243034, do: "enter", who: 6},
		{at: 9699071771, do: "navigate", who: 2, node: 3},
		{at: 10301221830, do: "another page", node: 2},
		{at: 10500511561, do: "another page", node: 3},
		{at: 10662882533, do: "node hangs", who: 3, d: 750000000},
		{at: 10672912858, do: "come", who: 5, node: 3},
		{at: 10919071117, do: "sign out", who: 7, node: 2},
		{at: 10955528924, do: "status", who: 2, node: 2, with: "invisible"},
		{at: 11088927033, do: "sign out", who: 1, node: 3},
		{at: 11161559222, do: "restart store", d: 587851958},
		{at: 11664479231, do: "navigate", who: 6},
		{at: 11837402486, do: "navigate", who: 6, node: 1},
		{at: 11973559649, do: "settings", who: 2, node: 1, with: "away"},
		{at: 12571811018, do: "navigate", node: 1},
		{at: 12594205921, do: "navigate", who: 6, node: 1},
		{at: 12747135369, do: "navigate", who: 6},
		{at: 13949638019, do: "directory late", who: 3, d: 499903119},
		{at: 14412765438, do: "settings", who: 2, node: 1, with: "nobody"},
		{at: 14513236692, do: "settings", who: 2, node: 1, with: "online"},
	}}},
	{"the store hangs until the time of the node that led is over, is wiped, and a node is first that stood still before", game{seed: 3078303, nodes: 4, slow: true, late: true, features: []feature{signals, consumer}, acts: []act{
		{at: 16434864378, do: "pause", who: 3, d: 5377770655},
		{at: 18059467874, do: "come", who: 5},
		{at: 19013254220, do: "enter", who: 5},
		{at: 19546343793, do: "pause", who: 3, d: 58918199190},
		{at: 20855281931, do: "another page"},
		{at: 20934796147, do: "store hangs", d: 39799128304},
		{at: 23651894593, do: "store hangs", d: 59308190341},
		{at: 25506521281, do: "view", who: 4, node: 1},
		{at: 62650680276, do: "wipe", who: 1},
		{at: 63077047144, do: "restart store", who: 3, d: 597063148},
		{at: 79808431115, do: "another page", who: 6, node: 2},
	}}},
	{"a status that was refused is taken after its user hid", game{seed: 55403, nodes: 2, late: true, acts: []act{
		{at: 8859383832, do: "node cut off", who: 1, d: 8780664505},
		{at: 11648273830, do: "status", who: 2, node: 1, with: "busy"},
		{at: 13795825642, do: "status", who: 2, with: "invisible"},
	}}},
	{"a page moves past changes of a user whom a store that lost its data has as of later", game{seed: 802050, nodes: 4, features: []feature{people}, acts: []act{
		{at: 1889392369, do: "wipe", who: 1},
		{at: 3826209172, do: "store hangs", who: 3, d: 5087434967},
		{at: 4214967876, do: "navigate", who: 6, node: 1},
		{at: 4224149884, do: "status", who: 2, node: 3, with: "busy"},
		{at: 4235624576, do: "navigate", who: 6, node: 1},
		{at: 5280624247, do: "navigate", who: 2, node: 3},
		{at: 6275494490, do: "lose diffs", who: 2},
		{at: 6289325244, do: "sign out", who: 7, node: 2},
		{at: 6851499851, do: "navigate", who: 2, node: 2},
		{at: 7192332220, do: "navigate", who: 2, node: 2},
		{at: 9402753444, do: "kill", who: 2, d: 442296254},
	}}},
	{"a node begins just after the store lost its data", game{seed: 149, nodes: 3, late: true, acts: []act{
		{at: 3065050004, do: "restart store", d: 675485932},
		{at: 3114972171, do: "kill", d: 320599166},
		{at: 4571974083, do: "another page"},
		{at: 5086368798, do: "come", who: 5, node: 1},
		{at: 5494777784, do: "navigate", who: 2},
		{at: 9075589061, do: "status", who: 2, node: 1, with: "invisible"},
	}}},
	{"a page moves to a node that lacks a join, while the store hangs", game{seed: 400324, nodes: 4, slow: true, acts: []act{
		{at: 30684992309, do: "topic late", who: 3, d: 1734773662, with: "site"},
		{at: 31372161687, do: "come twice", who: 3, node: 1},
		{at: 31572339104, do: "store hangs", who: 2, d: 1657454491},
		{at: 31612443107, do: "kill", who: 2, d: 380941364},
	}}},
	{"a failover loses the join of a page that moved, and its grace goes on", game{seed: 402353, nodes: 3, late: true, features: []feature{people, settings}, acts: []act{
		{at: 4245242144, do: "come twice", who: 5, node: 1},
		{at: 11085916254, do: "come", who: 7, node: 1},
		{at: 12083718064, do: "come", who: 3, node: 2},
		{at: 12392645894, do: "navigate", who: 3, node: 1},
		{at: 13772382836, do: "navigate", who: 6},
		{at: 14082055872, do: "navigate", who: 6, node: 1},
		{at: 18797062147, do: "deploy", d: 1655028995},
		{at: 18930733462, do: "lag", d: 377906906},
	}}},
	{"the store hangs just after a failover lost a renewal", game{seed: 402015, nodes: 5, late: true, acts: []act{
		{at: 14324062625, do: "lag", who: 1, d: 249003564},
		{at: 15680310071, do: "store hangs", who: 3, d: 1006976298},
	}}},
	{"a user who was missing is restored with another status after the store lost its data again", game{seed: 720889, nodes: 4, late: true, acts: []act{
		{at: 2430696041, do: "another page", node: 2},
		{at: 2990615437, do: "navigate", node: 2},
		{at: 3705841891, do: "come", who: 3, node: 1},
		{at: 4687009109, do: "come twice", who: 7, node: 1},
		{at: 4795431270, do: "come", who: 5, node: 2},
		{at: 5476565302, do: "navigate", who: 2},
		{at: 5842655819, do: "pause", who: 3, d: 6559566289},
		{at: 8494692043, do: "lose part", who: 2, with: "site"},
		{at: 10231345510, do: "pause", who: 2, d: 5893738451},
		{at: 13348988955, do: "flush", who: 1, d: 1695890866},
		{at: 14176283352, do: "status", who: 2, with: "away"},
	}}},
	{"the store loses its data again in an outage, before anything was restored", game{seed: 10027, nodes: 4, late: true, acts: []act{
		{at: 1305869997, do: "flush", who: 2, d: 1272587968},
		{at: 4849295874, do: "store away", who: 1, d: 5061236053},
		{at: 5659739468, do: "restart store", d: 271646226},
	}}},
	{"writes that were given up are taken after a user's device was hidden", game{seed: 55559, nodes: 4, slow: true, late: true, features: []feature{people}, acts: []act{
		{at: 47895372009, do: "kill", who: 2, d: 1879326215},
		{at: 50623396966, do: "node cut off", who: 3, d: 73485787290},
		{at: 84835119253, do: "status", who: 2, node: 2, with: "invisible"},
	}}},
	{"a node that starts after a loss of data does not know a page's token", game{seed: 55623, nodes: 2, late: true, acts: []act{
		{at: 6057800868, do: "restart store", who: 1, d: 163268960},
		{at: 9063197794, do: "wipe"},
		{at: 12164166292, do: "kill", d: 632555033},
		{at: 18061914137, do: "status", who: 2, node: 1, with: "invisible"},
	}}},
	{"a node that stood still writes a user's status to who watches people, after the user hid", game{seed: 500, nodes: 4, features: []feature{people}, acts: []act{
		{at: 1226440093, do: "pause", who: 2, d: 487933615},
		{at: 1477487841, do: "navigate", who: 2, node: 3},
		{at: 14522129089, do: "pause", who: 3, d: 12691563685},
		{at: 19477716903, do: "status", who: 2, node: 2, with: "invisible"},
		{at: 20033997947, do: "navigate", who: 2, node: 2},
	}}},
	{"a user comes back to a thread that a page no longer shows", game{seed: 600456, nodes: 2, features: []feature{threads}, acts: []act{
		{at: 1629317890, do: "come twice", who: 1, node: 1},
		{at: 3099002772, do: "enter", who: 6},
		{at: 13679890869, do: "enter", who: 1},
		{at: 18930480419, do: "exit", who: 6},
		{at: 19818960793, do: "go", who: 1},
		{at: 25378618895, do: "come", who: 1},
	}}},
	{"a sign-out waits at a node that ends, and the page stays open", game{seed: 600783, nodes: 3, slow: true, late: true, acts: []act{
		{at: 4175237420, do: "come", who: 7, node: 2},
		{at: 8008172634, do: "navigate", who: 2},
		{at: 13123825517, do: "navigate", who: 6},
		{at: 17045123142, do: "navigate", node: 1},
		{at: 21139370869, do: "store hangs", d: 19327705045},
		{at: 21679735243, do: "sign out", who: 7, node: 1},
		{at: 22892548650, do: "store away", d: 19492012518},
		{at: 23376918568, do: "deploy", who: 1, d: 1901460412},
		{at: 115811823833, do: "come twice", who: 3, node: 1},
	}}},
	{"a user hides before the store takes what a node had sent that has ended", game{seed: 1059, nodes: 2, late: true, acts: []act{
		{at: 17185490902, do: "come", who: 3},
		{at: 26275772103, do: "navigate", who: 2, node: 1},
		{at: 26763400414, do: "status", who: 2, node: 1, with: "busy"},
		{at: 31583747318, do: "navigate", who: 3, node: 1},
		{at: 31786082668, do: "node cut off", who: 1, d: 8516403901},
		{at: 31970376339, do: "navigate", who: 2, node: 1},
		{at: 32289090805, do: "deploy", who: 1, d: 1426990902},
		{at: 37532047804, do: "status", who: 2, node: 1, with: "invisible"},
	}}},
	{"a node is deployed while it is cut off, and a user has hidden meanwhile", game{seed: 3, nodes: 2, acts: []act{
		{at: 5000000000, do: "status", who: 2, with: "busy"},
		{at: 10000000000, do: "node cut off", who: 1, d: 4000000000},
		{at: 10100000000, do: "navigate", who: 2},
		{at: 10200000000, do: "navigate", who: 2},
		{at: 11500000000, do: "status", who: 2, with: "invisible"},
		{at: 12000000000, do: "deploy", who: 1, d: 1000000000},
	}}},
	{"a page comes to a node that a signal reached late", game{seed: 720007, nodes: 5, late: true, features: []feature{threads}, acts: []act{
		{at: 4993700330, do: "enter"},
		{at: 13557825180, do: "store hangs", who: 2, d: 3500000000},
		{at: 14530817087, do: "type", node: 2, d: 4211686101},
		{at: 21318414328, do: "navigate"},
	}}},
	{"a user signs out before a node that began in an outage hears, and writes the user's page view", game{seed: 740668, nodes: 3, slow: true, acts: []act{
		{at: 98723858710, do: "kill", d: 1952294247},
		{at: 100081339740, do: "store away", d: 14189395689},
		{at: 100801761098, do: "view", who: 4},
		{at: 114538840736, do: "sign out", who: 4, node: 2},
	}}},
	{"the store loses a sign-out whose node has ended, before a node that stood still hears of it", game{seed: 1111, nodes: 3, late: true, acts: []act{
		{at: 3185206584, do: "come twice", who: 5, node: 1},
		{at: 4554810096, do: "come twice", who: 7},
		{at: 16839649288, do: "pause", d: 14756639608},
		{at: 19205471199, do: "sign out", who: 7, node: 1},
		{at: 19844291487, do: "deploy", who: 1, d: 176726107},
		{at: 21531552957, do: "wipe", who: 1},
	}}},
	{"a user comes and goes while data are restored, and a node that stood still learns later of the loss", game{seed: 7301271, nodes: 4, late: true, features: []feature{settings}, acts: []act{
		{at: 6499490858, do: "navigate", who: 2, node: 1},
		{at: 6825033467, do: "navigate", who: 2},
		{at: 6926382167, do: "navigate", who: 2, node: 3},
		{at: 6958925716, do: "come twice", who: 1},
		{at: 15030401841, do: "lag", who: 1, d: 331380656},
		{at: 15146466315, do: "sign out", who: 1, node: 1},
		{at: 15171089209, do: "directory out", who: 2, d: 2273702411},
		{at: 15239372149, do: "pause", d: 2879491446},
		{at: 15858653477, do: "come", who: 1, node: 1},
		{at: 16588753293, do: "go", who: 1, node: 1},
	}}},
	{"a page that watches people moves to a node that has lost a message", game{seed: 600113, nodes: 3, late: true, features: []feature{people}, acts: []act{
		{at: 13223183816, do: "navigate"},
		{at: 18881708255, do: "lose diffs", who: 2},
		{at: 20192094848, do: "view", who: 4, node: 1},
		{at: 20282420403, do: "kill", who: 2, d: 1502968176},
	}}},
	{"a user signs out while a page view waits on a device of which nothing is known", game{seed: 7311406, nodes: 4, slow: true, features: []feature{people}, acts: []act{
		{at: 36966394326, do: "node cut off", who: 3, d: 73225499251},
		{at: 82234632210, do: "view", who: 4, node: 3},
		{at: 101872015175, do: "sign out", who: 4},
	}}},
	{"the store refuses writes after it lost data, which a node without users does not try", game{seed: 7200234, nodes: 3, slow: true, features: []feature{consumer}, acts: []act{
		{at: 7345394816, do: "read only", d: 22298576422},
		{at: 8412433073, do: "flush", who: 2, d: 697126994},
	}}},
	{"a user hides from who watches people while the store has lost the user's device", game{seed: 492, nodes: 3, features: []feature{people}, acts: []act{
		{at: 11051841725, do: "node cut off", who: 1, d: 4706469196},
		{at: 11852421808, do: "restart store", d: 593788515},
		{at: 12497794175, do: "come twice", who: 5},
		{at: 12567624785, do: "status", who: 2, node: 2, with: "invisible"},
	}}},
	{"the store loses its data twice before anybody is restored, and a program is told", game{seed: 2041, nodes: 3, late: true, features: []feature{consumer}, acts: []act{
		{at: 1639370185, do: "restart store", who: 1, d: 39656215},
		{at: 4534765044, do: "restart store", d: 424721579},
	}}},
	{"a program's record goes back in time, and then the node dies that told it", game{seed: 113, nodes: 4, late: true, features: []feature{consumer}, acts: []act{
		{at: 10494241846, do: "late diffs", who: 2, d: 400851661},
		{at: 10527532270, do: "view", who: 4, node: 1},
		{at: 10568334944, do: "lag", who: 1, d: 345878544},
		{at: 10991123925, do: "navigate", who: 2, node: 3},
		{at: 11045072668, do: "come twice", who: 5, node: 3},
		{at: 12670245154, do: "kill", who: 2, d: 1612516654},
		{at: 13673957447, do: "navigate"},
	}}},
	{"the store is wiped before a node that stood still knows that another one leads", game{seed: 3184, nodes: 3, features: []feature{people, consumer}, acts: []act{
		{at: 4885464224, do: "pause", d: 13847775504},
		{at: 8067152944, do: "pause", who: 1, d: 8903630794},
		{at: 14671493938, do: "store hangs", who: 2, d: 5704279512},
		{at: 17208996827, do: "restart store", who: 2, d: 462064781},
	}}},
	{"a user hides at a node that ends while the store hangs, and can tell no other", game{seed: 68, nodes: 3, slow: true, features: []feature{people}, acts: []act{
		{at: 12912062759, do: "move", who: 46},
		{at: 13751285267, do: "move", who: 35},
		{at: 15283410551, do: "navigate", who: 2, node: 1},
		{at: 20457199465, do: "navigate", who: 2},
		{at: 23998516217, do: "store hangs", d: 14738068341},
		{at: 24596693377, do: "status", who: 2, node: 1, with: "invisible"},
		{at: 24699987699, do: "answers lost", who: 2},
		{at: 25314600057, do: "deploy", who: 1, d: 196315508},
		{at: 25777035365, do: "move", who: 10},
	}}},
	{"a user hides while the node stands still that holds the user in a thread", game{seed: 750870, nodes: 4, features: []feature{threads}, acts: []act{
		{at: 293749141, do: "enter", who: 2},
		{at: 541200742, do: "pause", who: 3, d: 10848036294},
		{at: 1865603486, do: "status", who: 2, node: 1, with: "invisible"},
		{at: 5441509248, do: "enter"},
	}}},
	{"a user hides while nodes wait to read again a topic that the store has lost", game{seed: 740532, nodes: 4, slow: true, acts: []act{
		{at: 79427326340, do: "lose part", who: 1, with: "site"},
		{at: 80142783848, do: "status", who: 2, node: 1, with: "invisible"},
		{at: 80635744913, do: "navigate", who: 2},
	}}},
	{"a node's write of what a user chose before is on its way as it learns that the store lost its data", game{seed: 8300476, nodes: 4, features: []feature{people}, acts: []act{
		{at: 7450681774, do: "status", who: 2, node: 1, with: "invisible"},
		{at: 9594117758, do: "deploy", d: 1040066919},
		{at: 10672097402, do: "node cut off", d: 7531685478},
		{at: 11735872474, do: "status", who: 2, node: 1, with: "away"},
		{at: 12601171892, do: "wipe", who: 3},
	}}},
	{"a user hides, and opens a page at a node to which messages come late", game{seed: 760795, nodes: 3, late: true, features: []feature{web, consumer}, acts: []act{
		{at: 3395975944, do: "another page"},
		{at: 3711178442, do: "come twice", who: 5, node: 1},
		{at: 8708799659, do: "navigate", node: 1},
		{at: 10617812746, do: "navigate", node: 2},
		{at: 13277104690, do: "come twice", who: 1, node: 2},
		{at: 15500388821, do: "navigate", node: 1},
		{at: 16526820324, do: "navigate", who: 2},
		{at: 17392615601, do: "status", who: 2, with: "online"},
		{at: 17999042846, do: "another page", who: 6},
		{at: 18378470963, do: "navigate", who: 2},
		{at: 19186830309, do: "come twice", who: 7, node: 2},
		{at: 19364173700, do: "navigate", who: 2, node: 2},
		{at: 30073321361, do: "late diffs", d: 2777220809},
		{at: 31789813937, do: "status", who: 2, node: 2, with: "invisible"},
	}}},
	{"the store loses its data and the node dies that tells a program, just after the other one was cut off", game{seed: 8201407, nodes: 2, late: true, features: []feature{consumer}, acts: []act{
		{at: 13003621512, do: "node cut off", d: 8080851337},
		{at: 16707217404, do: "status", who: 2, node: 1, with: "invisible"},
		{at: 20331330284, do: "store away", who: 1, d: 528035939},
		{at: 21614389916, do: "restart store", who: 1, d: 456912838},
		{at: 21720367655, do: "kill", who: 1, d: 1409066024},
		{at: 21817662199, do: "sign out", who: 3},
	}}},
	{"a failover brings back who signed out, and sweeps begin late with a short TTL", game{seed: 887, nodes: 5, late: true, features: []feature{web}, acts: []act{
		{at: 5037179920, do: "come", who: 7},
		{at: 6022924738, do: "pause", who: 2, d: 7944728592},
		{at: 8896740402, do: "move", who: 90},
		{at: 8931854357, do: "lag", who: 2, d: 243154078},
		{at: 9037179920, do: "sign out", who: 7, node: 3},
	}}},
	{"the store starts again at once with a file in which all leases have expired", game{seed: 9100289, nodes: 2, late: true, features: []feature{file}, acts: []act{
		{at: 18337673331, do: "view", who: 4, node: 1},
		{at: 18507187711, do: "save"},
		{at: 23139234549, do: "view", who: 4, node: 1},
		{at: 25062413762, do: "restart store", d: 288482992},
	}}},
	{"a store that hangs for writes starts again with an old file, from before a user moved to another node", game{seed: 9100457, nodes: 3, slow: true, late: true, features: []feature{file}, acts: []act{
		{at: 36926509920, do: "save"},
		{at: 40632178467, do: "status", who: 2, node: 1, with: "away"},
		{at: 41142397197, do: "navigate"},
		{at: 66726029965, do: "writes hang", d: 29442116582},
		{at: 79968988490, do: "restart store", d: 471669166},
	}}},
	{"a page that finds its lease gone closes at a node that has not heard of the sign-out", game{seed: 20001284, nodes: 2, slow: true, acts: []act{
		{at: 24173817846, do: "come twice", who: 3},
		{at: 24272811343, do: "move", who: 69},
		{at: 136772536919, do: "node cut off", d: 78980852160},
		{at: 155870192126, do: "sign out", who: 3, node: 1},
	}}},
	{"a process stands still while a user signs out whose page is gone when it goes on", game{seed: 20001160, nodes: 2, features: []feature{web}, acts: []act{
		{at: 4193877543, do: "navigate", who: 2, node: 1},
		{at: 4351901070, do: "navigate", who: 6},
		{at: 8884126109, do: "come twice", who: 5},
		{at: 10942098780, do: "pause", who: 1, d: 6668443184},
		{at: 13025762077, do: "sign out", who: 5},
	}}},
	{"a sign-out that a failover lost is told again by a node whose calls are slow", game{seed: 8300550, nodes: 3, slow: true, acts: []act{
		{at: 33979242218, do: "come", who: 3, node: 1},
		{at: 35820532943, do: "sign out", who: 3, node: 1},
		{at: 35878857124, do: "come twice", who: 3, node: 1},
		{at: 36051523336, do: "lag", who: 1, d: 1229008710},
		{at: 36446175314, do: "status", who: 2, node: 1, with: "invisible"},
		{at: 36548264044, do: "slow way", who: 1, d: 1104012848},
	}}},
}

// TestKnown plays the games that failed once, each some times, because the order of goroutines
// is left to chance.
func TestKnown(t *testing.T) {
	for _, k := range known {
		t.Run(k.name, func(t *testing.T) {
			for range 10 {
				faults, notes := play(t, k.game)
				if len(faults) == 0 {
					continue
				}
				t.Error(strings.Join(faults[:min(len(faults), 3)], "\n"))
				if os.Getenv("SIM_NOTES") != "" {
					t.Log(strings.Join(notes, "\n"))
				}
				return
			}
		})
	}
}

// TestQuiet plays games in which nothing fails.
func TestQuiet(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			g := newGame(seed)
			g.acts = g.users()
			if faults, _ := play(t, g); len(faults) > 0 {
				t.Errorf("%s\n%v", strings.Join(faults[:min(len(faults), 3)], "\n"), g)
			}
		})
	}
}
