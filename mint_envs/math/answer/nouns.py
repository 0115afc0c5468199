"""Nouns that may follow a number and leave it what it is: ``5 \\text{ apples}`` is 5.

Most are what is counted in the questions of GSM8K and MATH (both MIT). The list is closed: of any
other word it is unknown what it makes of the number ("5 tenths", "5 less than x").
"""

from __future__ import annotations

COUNTED = frozenset(
    """
    acorns acres adults airplanes albums alligators amperes amps angles animals antacids ants
    apartments appetizers apples apps aprons arms arrangements articles artworks asparagus
    athletes attendees avocados awards babies badges bagels bags baguettes bales balloons balls
    bananas bandages bands baps barrels bars basketballs baskets batches bathrooms baths
    batteries beads beakers beans bears beats bedbugs bedrooms beds bees beignets benches
    berries bicycles bikes billboards bills birds biscuits bits blackbirds blankets blisters
    blocks blouses blueberries boards boats bollards bolts bones bonnets bonus books bottles
    bouquets bowls boxes boys bracelets branches breaks bricks brothers brownies bubbles buckets
    bugs builders buildings bulbs bunches bundles bunnies burgers burritos buses bushels
    businesses butterflies buttons buyers bytes cabinets cages cakes calls calories campers
    candies candles canes cans cantaloupes caps capsules caramels cardinals cards carnations
    carpets carriages carrots cars cartons cases caterpillars cats cattle cds celsius chairs
    channels chapters characters charges checks cheerleaders cheesecakes chefs cherries chickens
    chicks children chimichangas chips chocolates choices chores circles cities claims clarinets
    classes classmates classrooms claws clients clothes clotheslines clouds clovers cloves
    clownfish clowns clusters coaches coats coconuts coffees coins colorings colors columns
    combinations comics committees complaints computers cones consonants contacts containers
    cookies copies corns counters countries couples coupons courses cows crabs crackers
    cranberries craters crates crayons credits crickets croissants crows cubes cucumbers
    cupcakes customers cuttlebones daisies daughters decorations deer demerits desks devices
    diagonals diaries dice digits dimes dinners dishes divisions divisors doctors dogs dolls
    dolphins donations donuts doors dots doughnuts downloads dragons drawings draws dreams
    dresses drinks drops drums ducklings ducks dumplings dvds earrings ears edges eggplants eggs
    elements elephants elves emails employees envelopes episodes erasers euros eyes faces
    factors fahrenheit families fans farthings feathers females fences figurines files filets
    fingers firecrackers fireworks fish fishes flags flashlights flats flavors fleas flies
    flights flips floors flowers flutes flyers foldings followers footballs footprints forks
    friends fries frogs fronds fruits functions games gb geckos geese gifts gigabytes
    gingerbreads giraffes girls glasses gnomes goals goats goldfish grades grains grapes groups
    guests guitars gumballs guns guppies haircuts halls hamburgers hamsters hands handshakes
    hares hats heads hectares helmets hens hertz highlighters hikes hits hives holes homes
    honeydews hoodies hoots horses horseshoes hotdogs houses hushpuppies hz individuals insects
    instructions integers intercepts intersections islands issues items jackets jars jellybeans
    jellyfish jerseys jewels jokes joules jumps kangaroos kb kelvin kernels keys khz kids
    kilobytes kilos kilowatts kinds kittens knives knots ladders lambs lamps laps laptops lattes
    lattice lawns layers legos legs lemons lengths leopards lessons letters levels licks
    lightbulbs lighters lilies limes lines lions lire lizards llamas loads loaves logs lollipops
    lunches macarons macaroons machines magazines maggots magnets males mangoes marbles
    marigolds markers marks marshmallows masks matches matchsticks matrices mb meals meatballs
    medals meetings megabits megabytes melons members men messages mice milkshakes milliliters
    millimeters millipedes minks minnows mistakes models moles monkeys motorcycles moves movies
    mpg muffins mushrooms nails napkins necklaces neighbors nephews newspapers newtons nickels
    nights notebooks notes novels numbers nurses nuts objects offices ohms omelets onions
    options oranges orchids orcs orders outcomes outfits oysters packages packets packs pages
    pails paintings pairs pallets pamphlets pancakes pandas panels pans pants papayas papers
    paragraphs parents parrots parsecs parsnips participants parts pascals passengers passes
    pastries patches paths patients patrons paws peaches peanuts pearls pears pebbles pencils
    penguins pennies pens people peppers periods permutations pesetas pesos petals pets petunias
    pfennigs phones photographs photos pianists pickles pictures pieces pies pigeons piglets
    pigs piles pills pineapples pinecones pines pins pitches pizzas planes planks plants plates
    players plums pockets pods pointers points pokemon pollywogs polygons polynomials
    pomegranates poodles popsicles portions postcards posters posts potatoes pots precious
    presents pretzels primes problems puffs pumpkins pupils puppies pups pushups puzzles
    quadruples questions quilts quizzes rabbits racers racquets raisins raspberries rats records
    rectangles reflections regions reports representations representatives reps residents
    restaurants results revolutions rhinestones rides rings robots rocks rolls roommates rooms
    roosters roots roses rotations rounds routes rows rpm rungs runners sacks sales sandcastles
    sandwiches saplings sapphires sausages scallops scarves schools scoops screws seagulls
    seashells seasons seatings seats sections seedlings seeds segments seniors sentences
    sequences sequins servings sessions sets settings shares sharks sheep sheets shells shelves
    shifts shirts shoes shorts shots shrimp siblings sides signatures singers sisters sites
    situps skeins skips skirts sleeves slices slots smores snacks snails snakes snowballs
    snowflakes socks sodas sofas soldiers solutions songs sons sours spaces sparklers spears
    spiders spokes spools spoons sports spots squares squats squirrels stacks stairs stamps
    starfish stars stations statues steaks stems steps stickers sticks stitches stops stores
    stories strands strawberries straws streetlights streets strings stripes strokes students
    stuffies subjects subsets suckers suitcases suits sunflowers surfers swallows swans sweaters
    sweets systems tables tablespoons tabs tadpoles tanks tarantulas tasks tattoos teachers
    teacups teams tears teaspoons teddies teeth televisions tennis tents terms tests texts
    things tickets ties tigers tiles times tins tires tissues toads toddlers toenails toes
    tokens tomatoes tonnes tons tools toothbrushes toothpicks toppings tosses touchdowns towels
    towers toys trains trays treats trees trials triangles triples trips trolls trout truckloads
    trucks trumpets tubes tubs tulips tuples turkeys turns turtles twigs types unicorns
    vacations values vampires vans vegetables vehicles vertices vibrations videos visitors
    visits vlogs volts voters votes waiters walls walnuts wands washers washes watermelons watts
    ways weasels websites weeds weekdays whales wheels whiskers whistlers widgets wights windows
    wings wipes women words workers worms yaps years-old yogurts zebras zeroes zeros zits
    zombies
    """.split()
)
