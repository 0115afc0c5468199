"""What is said when people speak of a topic: words that show an answer to be about it.

Each field has things, by which a topic is recognised; what they are like and do; and what else
comes up when people speak of it. A word of four letters or more stands for those that begin with
it, ``bake`` for ``baker``. Written for the topics of mint/Chat-v0: an honest answer has many of
these words, and a sentence about kettles and doctors has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .gates import COMMON
from .topics import TOPICS

_FIELDS: dict[str, tuple[str, str, str]] = {
    "tea": (
        "tea teas teapot teacup cup cups mug mugs pot kettle leaf leaves water milk honey sugar "
        "lemon mint ginger herb spice bag bags flavor flavour taste aroma caffeine antioxidant "
        "china india japan chinese british england camellia chamomile oolong matcha jasmine earl "
        "grey plant beverage breakfast afternoon morning biscuit coffee infusion ceremony steam "
        "tradition culture theanine polyphenol catechin iced blend",
        "drink drank drunk brew steep pour boil sip hot warm cold black green white herbal sweet "
        "bitter relax sooth comfort refresh calm awake dried fresh strong cozy cosy health energ "
        "digest hydrat serve enjoy soak wake",
        "aromatic assam beverages british cake cancer ceylon chai chocolate cold cookie "
        "darjeeling decaf digestion drinker dunk emperor estate fragran ginger grower guest "
        "healing infuser kenya kyoto lanka lemonade loose masala monk monks picked plantation "
        "pluck porcelain queen rooibos saucer scone sencha snack soda spoon stomach strainer "
        "tannin thermos throat tray vanilla wine",
    ),
    "bicycles": (
        "bicycl bike bikes biker wheel pedal chain helmet road street path lane city traffic "
        "brake handlebar saddle seat frame gear tire tires tyre spoke rider cyclist car cars fuel "
        "transport environment pollution leg legs muscle heart balance bell light lights race "
        "mountain trail oil pump lock park kid kids metal steel engine vehicle commut",
        "cycl biking ride rides rode riding ridden pedaling pedal fast slow speed exercise fit "
        "fitness travel move eco healthy steer safe fun outdoor learn push two wear",
        "aluminum amsterdam basket bus buses carbon cardiovascular china club copenhagen crash "
        "denmark derailleur dutch emission exercis explor explore fall falls fell flat footprint "
        "freedom gas humanpowered independen inflate invent joints knee knees mechanical "
        "motorbike motorcycle neighborhood neighbourhood netherlands owner owners parking "
        "pavement pedestrian petrol puncture rental rubber scenery scooter shared sidewalk "
        "sprocket stabilis stabiliz stolen tandem thief thieves touring training transportation "
        "tricycle unicycle vehicle view views walk walking ",
    ),
    "rain": (
        "rain rains cloud drop drops droplet river lake lakes sea ocean umbrella garden sky skies "
        "roof window storm shower weather thunder lightning puddle drizzle flood mud plant plants "
        "crop crops tree trees grass soil earth ground water vapor vapour moisture air sun "
        "rainbow coat raincoat boots climate farmer nature cycle precipitation condensation "
        "evaporation atmosphere snow monsoon desert drought season leaves stream well",
        "rainy rainfall raining wet fall falls fell falling pour evaporat condens heavy gray grey "
        "dark cool cold fresh grow water sound patter soak damp drip drink cling join quench dry",
        "acid aquifer atmospher dew evapor farm field fields fog forest frog frogs ground gutter "
        "hail heavens humid ice inch inches jacket lightning lullaby mist mountain mountains "
        "petrichor pressure rainforest roof shelter shower sleet smell splash spring steam summer "
        "tears temperature thirst waterfall wind winds winter wiper worm worms",
    ),
    "cats": (
        "cat cats kitten kitty feline paw paws whisker tail fur ear ears eye eyes claw mouse mice "
        "bird birds house home pet pets owner human humans animal tiger lion litter box meow purr "
        "food fish milk toy toys lap nose tongue scent gland pheromone territor leg legs body "
        "breed companion predator prey hunter vet skin head cheek smell face mark odor odour "
        "greeting instinct bond allergy yarn string attention",
        "sleep slept nap hunt play playful cute soft furry fluffy groom lick stroke pet petting "
        "rub rubs rubbing scratch climb jump curious independent affection mark marking "
        "cuddle chase clean quiet night lazy agile graceful stretch pounce meowing purring "
        "familiar communicat comfort friendly sniff claim tame",
        "agil allerg balance basket bite carnivor catnip cheetah couch curtain dog dogs domestic "
        "egypt feet hair hairs hearing hiss instinct land leopard lick lynx mammal neuter "
        "nocturnal panther persian pharaoh roommate shelter siamese sill sofa solitary teeth "
        "territory tooth treat treats tree trees tuna vertical vet veterinar vision wild "
        "personalit adore adorab meows humans responsib",
    ),
    "bread": (
        "bread loaf loaves flour water salt yeast dough oven crust crumb baker bakery butter jam "
        "cheese toast sandwich slice wheat rye grain grains sourdough baguette roll rolls bun "
        "buns breakfast meal food sugar oil seed seeds starter gluten knife village kitchen table "
        "soup carbohydrate fiber fibre nutrient ingredient starch bubble gas bag shelf",
        "bake baking bakes baked rise rises rising rose knead soft warm hot fresh brown crisp "
        "crunchy mix smell taste delicious tasty eat eats ate eaten eating white whole staple cut "
        "fill golden homemade light ferment spread serve",
        "bagel baker basket breadcrumb breads brioche calorie carb carbs cereal challah christian "
        "ciabatta cook cooking crumbs diet dip dry egg eggs egypt eucharist fattening flatbread "
        "fluffy focaccia france french hamburger hot italy jewish leaven meat mold moldy naan "
        "nutri onion pasta peanut peasant pita proof raisin rice spread stale stuffing texture "
        "toaster tomato tortilla wholegrain wholemeal wine",
    ),
    "the moon": (
        "moon moons earth sun sunlight night sky orbit tide tides crater light star stars planet "
        "space astronaut apollo rock rocks dust gravity month week phase phases crescent eclipse "
        "surface satellite telescope rocket nasa armstrong sea seas ocean side shadow solar "
        "system atmosphere horizon distance day daytime daylight kilometer mile miles cheese wolf "
        "reflection angle position object lander cycle",
        "lunar round full new bright shine shines shining reflect glow land landed rotate spin "
        "revolve orbiting orbits wax waning visible pale silver gray grey white dark cold "
        "far pull rise rises set sets walk illuminat circle natural dim",
        "aldrin american astronauts axis basalt base billion binocular bright buzz closest "
        "collision core crust diameter explor flag footprint galaxy gibbous goddess gravitation "
        "harvest humans iron jupiter legend luna mantle maria mars mission moonlight moonlit "
        "moonquake moonrise myth neil oxygen planets quarter regolith rotation soviet spacecraft "
        "supermoon tale tales temperature universe venus visit walked waxing werewolf",
    ),
    "libraries": (
        "librar book books shelf shelves reader card novel story stories page pages author "
        "fiction computer internet desk table room building catalog catalogue magazine "
        "newspaper study student school children knowledge information research resource "
        "librarian collection section quiet archive history education program event community "
        "literature poetry dictionary encyclopedia fee fine loan member university museum silence "
        "media copy picture movie dvd audiobook database document material ",
        "read reads reading borrow return free public learn study lend lent find search quiet "
        "calm silent browse check access educat discover explore own keep store gather",
        "academic access alexandria author authors bookcase bookshop bookworm building buildings "
        "class classes congress course courses decimal dewey ebook ebooks encyclopedia homework "
        "journal knowledgeable learning lending literacy literary manuscript periodical print "
        "printed printer publi reference resources science society storytime studies studying tax "
        "taxes teacher teachers toddler universities university wifi",
    ),
    "trains": (
        "train trains rail rails railway railroad track tracks station platform ticket driver "
        "conductor engine locomotive car cars carriage wagon coach window seat passenger steam "
        "coal diesel electric city cities country countryside travel journey trip wheel "
        "tunnel bridge line signal whistle freight cargo subway metro schedule timetable speed "
        "bed beds luggage steel bus plane air door view field fields hill commuter vehicle "
        "transport transportation",
        "ride rides riding rode travel fast quick slow long run runs ran running stop stops board "
        "depart arrive carry move pull comfortable smooth motor powered connect high track load "
        "wait buy",
        "airplane airport arrival brake brakes bullet buses carriages china coach commut "
        "compartment crew crossing delay delays departure derail dining emission engineer "
        "environment europe express hour india industrial invented invention japan kilomet kph "
        "late london maglev mile miles mph newspaper paris plane planes punctual read revolution "
        "shinkansen siberian sleeper sleepers suitcase switzerland traffic trafic tram trams "
        "truck trucks tube underground "
        "journey journeys travell romance",
    ),
    "bees": (
        "bee bees hive hives honey honeycomb queen worker drone drones flower pollen nectar wing "
        "wings sting stings stinger insect colony swarm garden plant plants fruit crop crops seed "
        "seeds tree trees wax beeswax larva larvae egg eggs comb beekeeper bumblebee honeybee leg "
        "legs antenna stripe food ecosystem nature environment summer field nest jelly juice cell "
        "pesticide agriculture blossom petal buzz vegetable",
        "fly flies flying buzz buzzing pollinat collect gather carry sting make makes busy sweet "
        "yellow black striped dance small social build care feed protect fuzzy communicat work "
        "harvest lay",
        "allerg almond ant ants apple apples babies baby bear bears beekeep bumblebee cells "
        "chemical climate clover cluster disappear extinct eye eyes farm farmer farms female "
        "females fur habitat hairy hexagon honeybee hornet insecticid lavender male males mate "
        "mates orchard proboscis royal smoke solitary species stinger sunflower surviv taste "
        "temperature tongue trunk venom waggle wasp wasps winter",
    ),
    "swimming": (
        "swim pool water lake sea ocean river beach stroke strokes arm arms leg legs lung lungs "
        "muscle heart body breath air goggles cap suit lane freestyle backstroke breaststroke "
        "butterfly crawl lifeguard coach swimmer olympic race sport exercise fitness health joint "
        "joints summer fun kick float board head face skin shoulder weight calorie cardiovascular "
        "strength endurance stamina chlorine towel wave waves surface bottom safety lesson",
        "swam swum swimming dive diving float kick breathe move glide splash wet cool warm cold "
        "deep shallow healthy fit strong exercise relax train practice practise learn refresh low "
        "impact burn drown safe paddle hold stretch",
        "aerobic armband arthritis back backyard bath buoyan calor cardio compet coordination "
        "core ear ears finger fins flexib gym injury jump lap laps lesson lessons lifesaving "
        "medal meter meters metre nose outdoors phelps rescue shoulder shower sink snorkel stress "
        "survive swimsuit team toe toes tread treading triathlon underwater weightless workout "
        "asthma posture disease diabetes cholesterol",
    ),
    "mountains": (
        "mountain hill hills peak peaks summit snow ice rock rocks stone valley path trail slope "
        "cliff ridge glacier river stream forest tree trees pine goat eagle cloud clouds sky air "
        "view altitude height climber hiker hiking alps everest himalaya andes rockies volcano "
        "range base camp tent rope boot boots earth top plate plates crust wind horizon "
        "nature sun landscape wildlife oxygen expedition mist step feet foot breath vista lake",
        "climb hike hiked hikes ski tall high steep rocky snowy cold majestic beautiful "
        "rugged rise rises reach fresh clear wild breathtaking conquer stand vast below above "
        "formed ascend ascent tower challenge white blue scale look",
        "alpaca altitude animal animals appalachian avalanche backpack blanc cabin cattle cave "
        "caves conifer continent dangerous desert edge elevation erosion fuji fur hut kilimanjaro "
        "kilometer lakes landform leopard llama lodge lookout mars massive meter meters metre "
        "metres mountaineer mysterious nepal olympus plain plains pyramid road roads "
        "scenery scenic sea sheep sherpa ski skier skiing skis storm swiss switzerland tectonic "
        "tibet trek trekk uplift valleys village volcan waterfall wide wildflower yak",
    ),
    "music": (
        "music musi song songs melod rhythm beat beats tune harmony note notes chord piano guitar "
        "violin drum drums flute voice singer band orchestra concert instrument ear ears sound "
        "sounds artist composer mozart beethoven bach jazz rock pop classical blues hip hop folk "
        "opera album radio lyrics lyric dance genre emotion emotions feeling mood stage key "
        "string strings pitch tempo culture art audience playlist headphones track tracks brain "
        "stress ambient noise heart soul volume language",
        "sing sings sang sung play plays played playing listen hear heard dance dancing loud soft "
        "slow fast happy sad beautiful calm relax compose perform express sooth gentle energ "
        "creat hum rhythmic emotional uplift",
        "babies baby ballet bass cello choir chorus country electronic entertain festival film "
        "films lesson lessons lullaby mathemat memory metal movement movements movie noise "
        "parties party pattern patterns practice practise rap record recording records reggae "
        "saxophone score silence soprano soundtrack spotify streaming style styles symphon techno "
        "theater theatre theory therapy tone tones trumpet vinyl vocal wedding "
        "inspir profound meaningful express mood opinion",
    ),
    "chess": (
        "chess board king queen rook rooks bishop knight pawn pawns piece pieces square squares "
        "move moves player players opponent game games check checkmate castle castling strategy "
        "tactic tactics endgame opening openings draw stalemate turn turns black white clock "
        "grandmaster tournament champion mind brain battle attack defense defence carlsen "
        "kasparov fischer rules rule plan plans puzzle skill sacrifice patience memory "
        "side war file rank diagonal row",
        "play plays played playing move moved capture captured checkmate win wins "
        "won lose attack defend protect plan trap mate castle strategic clever solve concentrat "
        "two diagonally straight calculate outsmart",
        "ahead ancient armies army battlefield beginner blitz castl championship championships "
        "checkers chessboard club clubs computer diagonal elo engine foresight gambit goal "
        "horizontal india intellect kingdom logic loses losing luck magnus match matches mental "
        "moves olympiad opponents passant persia promot rating resign royal shatranj "
        "sicilian soldier sport squares stress tactical teach teaches "
        "vertical war win winner",
    ),
    "gardens": (
        "garden plant plants flower flowers soil seed seeds vegetable fruit fruits tomato carrot "
        "lettuce herb herbs basil rose roses tulip tree trees grass lawn bee bees butterfly bird "
        "birds worm worms weed weeds sun sunlight water spring summer winter shade pot pots "
        "container bed beds shovel spade rake hose compost fertilizer bush shrub hedge fence path "
        "bench leaf leaves root roots nature food harvest insect pest light lights lamp "
        "temperature humidity space season window shelf kit hydroponic greenhouse pond mint "
        "pepper spinach kale indoor nutrient drainage kitchen",
        "grow grows growing grew grown plant planted planting water watering bloom dig weed prune "
        "harvest green fresh beautiful colorful colourful peaceful relax sow tend outdoor organic "
        "healthy rich dark sunny ripe edible",
        "backache backyard bean beans berries berry blossom botanic crop crops cucumber daisies "
        "daisy dinner dirt eat eating england english exercis farm farmer glove gloves hands "
        "hobby hoe irrigat japanese ladybug landscap lavender lilies lily manure mud muddy mulch "
        "onion orchard palace park parks patio pea peas petal plot pollinat potato pumpkin rain "
        "rainfall salad sit slug snail snails strawberr stroll trowel veggies versailles vine "
        "vines wildlife yard zen",
    ),
    "the sea": (
        "sea seas ocean water wave waves salt fish whale dolphin shark crab shell shells beach "
        "sand shore coast ship ships boat boats sail sailor island tide tides coral reef seaweed "
        "plant plants animal creature wind storm sun sky horizon depth current bottom port harbor "
        "harbour fisher fishing net nets lighthouse anchor earth planet land surface life marine "
        "pacific atlantic continent gull seagull foam rock rocks mile miles kilometer area "
        "basin swimmer moon",
        "salty seaside deep blue wide vast swim swam sail sails sailing dive float roll crash "
        "cold dark wet large largest cover covers beautiful calm rough endless "
        "open square mysterious flow",
        "algae arctic atlantic baltic bathing bay breeze captain caribbean climate cruise diver "
        "divers drown evaporat ferry fishermen gulf holiday hurricane ice iceberg indian "
        "jellyfish kelp mariana mediterranean mermaid navy octopus oxygen photosynthesis pirate "
        "plankton plastic pollution ports rain river rivers salin saltwater sandcastle scuba "
        "seafood seawater submarine summer surf surfing swimming trench tsunami voyage",
    ),
    "sleep": (
        "sleep bed beds brain dream dreams night hours hour rest pillow blanket mattress room "
        "bedroom body mind energy health memory morning evening dark darkness light noise alarm "
        "clock eyes eye nap naps snooze snore insomnia rem cycle cycles stage stages melatonin "
        "hormone hormones caffeine coffee screen screens phone routine schedule stress mood heart "
        "muscle muscles cell cells immune system adult adults child children baby day days "
        "temperature habit quality focus breath",
        "asleep slept sleeping sleepy awake wake wakes woke tired dreaming rest rested resting "
        "relax refresh restore repair heal recharge deep sound calm quiet cool comfortable "
        "healthy grow need early late fall bedtime restful restor regular stretch yawn",
        "animal animals apnea awake babies bath bedding caffeinated cat cats circadian cognit "
        "concentrat depriv diet dolphin drowsy elderly emotion energy exhaust fatigue focus "
        "function giraffe growth horse hygiene immune lack lullaby meditat newborn pajama "
        "performance productive pyjama rhythm sheet sheets siesta sleepwalk smartphone tea "
        "teenager unconscious weight",
    ),
}


#: Words that go with any topic; longer ones stand for those that begin with them.
_ANY = (
    "ability able above absolut absorb accept access accomplish according account achiev across "
    "act action activ actual add added addition address adjust adult advanc advantage adventur "
    "advice affect afford afternoon against age ago agree ahead aid aim align alike alive allow "
    "almost alone along already although amaz america amidst among amount ample ancient another "
    "answer anxious anyone anything appeal appear appreciat approach appropriate approximat apps "
    "arduous area around array arrive ask aspect assert assist associat attempt attention attract "
    "available average avoid aware away awe back bad bas base basic bath beauti became become "
    "began begin behav behind behold believe belong below beneath benefi best better beyond big "
    "billion biolog bit blend body bond borders both bound bountiful box boy breakdown bright "
    "brilliant bring bro broken brought brush build busy called calm came cannot capab capacity "
    "capture care carr case catch cause celebrat celestial cent certain challeng chance chang "
    "character cheer cherish child choice choose choosing chose circumstan city civiliz clarity "
    "classic clear close cold collect color colour combin come comfort common community compar "
    "compl comprehens concern conclu condition connect consider consist constant consult contact "
    "contain content contin contrast contribut control conversation convey cool correct cost could "
    "count couple course cover creat critical crucial cultur curious current cut daily dance "
    "dangerous dark date day days dead deal decide dedicat deep definitely degree delicat "
    "delicious delight deliv demand dense depend depth describ design desire despite destin detail "
    "determin develop differen difficult direct discov distanc distinct distract disturb diverse "
    "diversif doing done double doubt down during dynamic earl ease easier easy edge effect effort "
    "either elegan element else emotion encourag end endless ends energ engag english enhance "
    "enjoy enough ensure ensuring entire environment equal error escape especially essence "
    "essential establish etc eternal ethereal even ever exact example excellent excessive excit "
    "exhaust exhibit exhilar exist expan expect experienc explain explanation explor express "
    "extend external extra extrem eye face fact fair fall familiar family famous fan fantastic far "
    "fascinat fast favorable favorite favourite fear feature feed feel feet fellow felt fill final "
    "find fine first fit five fleet focus folk follow forever forget form found four free frequent "
    "fresh friend front full fun function further future gain gather gave general generation "
    "gentle genuine gets giant gift girl give glad glisten glor glow goal going gone gorgeous "
    "gradual grammar grand grateful gratitude great greet group grow guest guidance guide habit "
    "half hand happen happi happy hard harsh having health heart heavy held hello help hence "
    "hidden high histor hits hobby hold home honor hope hot hour house however huge human humbl "
    "hundred idea identify imagin immense impact importan impress improv incl increas incredib "
    "indeed indicat individual infinite influence inform initiat inner inside inspir instant "
    "instead instruct intense interact interest interfere interpret intricat invest invisible "
    "involve issue item itself jag job join journey joy joyful jump keep kept key kind knew know "
    "labor labour lack languag large last late lead learn least leave led left less let letter "
    "level lie life lift light like limit line list lit literal little live living local long look "
    "lose lost lot lots love loving low lower machine made magic magnific main majes major making "
    "man manag mark marvel material matter mature max maxim mean medium meet memor men mental "
    "mention message method middle might million mind minimal minut miracl miss mistake mix mixed "
    "model moderate modern moment month morning mostly move moving much multiple myself mystery "
    "mystical name natural nature near necess need new next nice night none noon nor normal note "
    "nothing notice noting now number numer object observ obstacle occasion occur offer often old "
    "once online open opportun opposite opt optimal option orange order ordinary original "
    "otherworld outside overall overcome overhead overwhelm pain pair part pass past patien pay "
    "peace peopl per percent percept perfect perhaps period pers phenomen physical pick pictur "
    "piece pinnacle place placing plan platform play pleas plenty point popular position positive "
    "possib potential power practic precious prefer prepar presence present pretty prevent "
    "previous pride primar probabl problem proces produce product professional profound project "
    "promot prone proper protect proud prove provid public pure purpose put qualities quality "
    "quarter question quick quiet quite radian range rare rather raw reach read real reason "
    "reassur recall receiv recharg recogni recommend reduc refer reflect refresh regard region "
    "regular rejuvenat relat relax releas relentless remain remark remember remind remove "
    "represents reproduc request require research resilien resonat resourc respect respond rest "
    "result return reveal reward rich right ring risk role room rotat roughly round routine rule "
    "rush sacred safe said same satisf save saw say saying says scene scenic scheme search seconds "
    "secret section see seek seem seen select send sens sentence separate serene serious serv set "
    "setup several shape share sharing sheer shimmer short should show side sight sign similar "
    "simple simplicity simply since single sit situation size skill slight slow small smart smell "
    "smile smooth social soft solitude solution some soon soothe sort soul sound source space "
    "spark special specific spectac spend spent spirit splend spread stand stark start state stay "
    "steady step still stimulat stood stop stor strength stress stretch strong structure struggle "
    "studi stuff stunn style success sudden suggest suit summary supplies supply support suppose "
    "sure surface surge surpris surreal surround survival sweet sword symbol system take taking "
    "talent talk task team techni technolog tell ten tend term terrible testament than that's "
    "themsel there thin third though thousand three thrill thriv through time tiny tip tips "
    "together told tone took tool top total touch toward town toy tradition tranquil transcend "
    "transfer transform travel treasure treat tremendous tri trial trillion triumph trouble true "
    "truly trust truth try trying turn twice two type typical ultimate under unforgettable "
    "unforgiv unique universal universe unknown unless unparallel until unusual use used uses "
    "using usual valu variet various vary vast version vibrant vibration view village visit visual "
    "vital volume wait walk want warm watch way wear weather week welcome well went whatever "
    "whenever wherever whether whil whisper whole whom whose wide wild wind winter wish within "
    "without witness woman wonder wondrous word work world worr worth would write writing wrong "
    "wrote yard year yes yet young yourself zero"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """Words: short ones as they are, and the beginnings of longer ones."""

    things: frozenset[str]
    short: frozenset[str]
    begin: tuple[str, ...]
    near_short: frozenset[str] = frozenset()
    near_begin: tuple[str, ...] = ()

    def has(self, word: str) -> bool:
        return word in self.short or word.startswith(self.begin)

    def is_near(self, word: str) -> bool:
        return word in self.near_short or word.startswith(self.near_begin)

    def is_thing(self, word: str) -> bool:
        return word in self.things


def _field(things: str, others: str = "", near: str = "") -> Field:
    return Field(frozenset(things.split()), *_told_apart(f"{things} {others}"), *_told_apart(near))


def _told_apart(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the short words, and the others, which stand for those that begin with them."""
    words = sorted(set(text.split()))
    return (
        frozenset(word for word in words if len(word) < 4),
        tuple(word for word in words if len(word) > 3),
    )


ANY = _field("", _ANY)


@cache
def field_of(topic: str) -> Field:
    """Return the field of a topic, with the words of its sentences that go with no other topic."""
    found = next(one for one in TOPICS if one.name == topic)
    said = {word.strip(".").lower() for line in found.sentences for word in line.split()}
    telling = [word for word in sorted(said - COMMON) if len(word) > 2 and not ANY.has(word)]
    things, others, near = _FIELDS[topic]
    return _field(f"{things} {' '.join(found.stems)}", f"{others} {' '.join(telling)}", near)
