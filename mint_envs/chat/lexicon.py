"""Lists of words that kinds of instruction refer to."""

from __future__ import annotations

#: Words that hold sentences together; IFBench counts these, as NLTK lists them. Pieces of
#: shortened words are among them ("don", "t"), since words are runs of letters here.
STOP_WORDS = frozenset(
    (
        # persons, and what is theirs
        "i me my myself we our ours ourselves you your yours yourself yourselves he him "
        "his himself she her hers herself it its itself they them their theirs themselves "
        # asking and pointing
        "what which who whom this that these those where when why how here there then once now "
        # to be, to have, to do, and helpers
        "am is are was were be been being have has had having do does did doing can will should "
        # between words and sentences
        "a an the and but if or because as until while nor than so "
        "of at by for with about against between into through during before after above below "
        "to from up down in out on off over under again further "
        # how much
        "all any both each few more most other some such no not only own same too very just "
        # pieces of shortened words
        "s t d m o y ll re ve ma ain aren couldn didn doesn don hadn hasn haven isn mightn mustn "
        "needn shan shouldn wasn weren won wouldn"
    ).split()
)

CONJUNCTIONS = frozenset("and but for nor or so yet".split())

PRONOUNS = frozenset(
    (
        "i me we us you he him she her it they them "
        "my mine our ours your yours his hers its their theirs "
        "myself ourselves yourself yourselves himself herself itself themselves "
        "this that these those who whom whose which what whoever whomever whatever whichever "
        "anybody anyone anything everybody everyone everything nobody nothing somebody someone "
        "something each either neither both all some any none"
    ).split()
)

#: The names that IFBench's prompts list.
NAMES = tuple(
    (
        "Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte "
        "Alexander Amelia Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen "
        "Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David "
        "Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan"
    ).split()
)

#: Verbs that an answer may begin with, in their plain form.
_VERBS = (
    "accept achieve act adapt add adjust adopt advance advise aim align allow analyze analyse "
    "answer anticipate appear apply appreciate approach argue arrange ask assemble assess "
    "assign assume attend avoid bake balance base be become begin believe blend boil boost "
    "break breathe bring browse build buy calculate call capture care carry catch celebrate "
    "change check choose clarify clean click climb close collaborate collect combine come "
    "communicate compare complete compose compute conclude conduct configure confirm connect "
    "consider construct consult contact continue contribute convert cook coordinate copy count "
    "cover craft create cross cultivate cut dance deal decide declare decrease dedicate define "
    "deliver demonstrate depict derive describe design desire determine develop dig discover "
    "discuss dive divide do download draft draw dream drink drive eat edit educate eliminate "
    "embark embed embrace emphasize employ empower enable encourage engage enhance enjoy ensure "
    "enter envision establish estimate evaluate examine execute exercise expand expect "
    "experience experiment explain explore express extend extract face facilitate factor fail "
    "fall feed feel fetch fill find finish fix focus follow forget form foster gain gather gaze "
    "generate get give glance go grasp greet grow guard guess guide handle harness have hear "
    "help highlight hold hope identify ignore illustrate imagine implement improve include "
    "incorporate increase initialize initiate input insert inspect install integrate introduce "
    "invest investigate invite involve iterate join journey jump keep know launch lay lead "
    "learn leave let leverage lift list listen live load look lose love maintain make manage "
    "master maximize measure meet mention minimize mix modify monitor move multiply navigate "
    "need normalize note notice nurture observe obtain offer open operate optimize organize "
    "outline overcome paint pay perceive perform pick picture plan plant play plot point ponder "
    "pour practice practise prepare present prevent print prioritize process produce program "
    "promote propose protect prove provide pull pursue push put question raise reach read "
    "realize recall receive recognize recommend record reduce refer refine reflect regard "
    "relate release rely remember remind remove repeat replace reply report represent request "
    "require research resolve respect respond rest return reveal review rewrite ride rise roll "
    "run save say schedule search secure see seek select sell send serve set shape share show "
    "sift simplify sing sit sketch sleep slice solve speak specify spend split stand start "
    "state stay step stir stop store strive study submit substitute subtract suggest summarize "
    "support suppose surrender swim take talk tap target taste teach tell test thank think "
    "touch track train transform translate travel treat trust try turn understand undertake "
    "unite unlock unravel unveil update upgrade use utilize validate value vary verify view "
    "visit visualize wait wake walk want wash watch weave weigh welcome whisper witness wonder "
    "work write yearn"
).split()
_ODD_FORMS = (
    "am is are was were been being has had having does did done doing went gone said made took "
    "taken got came knew known thought saw seen found given gave told became left felt put "
    "brought began begun kept held wrote written stood heard let meant met ran paid sat spoke "
    "spoken led grew grown lost fell sent built understood drew broke spent rose drove bought "
    "wore chose can could will would shall should may might must"
).split()
_MODALS = frozenset("can could will would shall should may might must".split())


def _forms(verb: str) -> list[str]:
    stem = verb.removesuffix("e") if verb.endswith("e") and not verb.endswith("ee") else verb
    ending = "es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s"
    if verb.endswith("y") and verb[-2] not in "aeou":
        third, past = f"{verb[:-1]}ies", f"{verb[:-1]}ied"
    else:
        third, past = verb + ending, f"{stem}ed"
    doubled = [f"{verb}{verb[-1]}ing", f"{verb}{verb[-1]}ed"]
    return [verb, third, past, f"{stem}ing", *doubled]


VERBS = (
    frozenset(form for verb in _VERBS for form in _forms(verb)) | frozenset(_ODD_FORMS) - _MODALS
)
#: Words in ``-ing`` that are no verbs.
NOT_VERBS = frozenset(
    "thing something anything nothing everything king ring string spring morning evening ceiling "
    "wing sing-song during sterling beijing".split()
)
