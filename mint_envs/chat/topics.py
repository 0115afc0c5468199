"""What the prompts of mint/Chat-v0 are about.

The sentences are plain on purpose (no commas, quotes, digits, abbreviations): the worked answer
is put together from them, under whatever instructions were drawn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Requests; the topic goes into the braces.
REQUESTS = (
    "Write a short note about {}.",
    "Explain {} to a child.",
    "Tell a friend about {}.",
    "Describe {} to someone new to it.",
    "Say what is good about {}.",
)

#: Words that a paragraph can be asked to begin with; any sentence may follow them.
OPENERS = ("often", "today", "sometimes", "usually", "clearly", "luckily")

#: Phrases that an answer can be asked to end with.
ENDINGS = (
    "That is all for now.",
    "I hope this helps you.",
    "Ask me if you want more.",
    "What do you think of it?",
    "Thank you for reading this.",
)

#: Things that can stand in square brackets, and a sentence for them.
PLACEHOLDERS = (
    "Write to [name] for more.",
    "Come to [place] and see it.",
    "We meet again on [date].",
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and sentences about it.

    Args:
        words: words of the sentences that a prompt may ask for or forbid.
        related: other words that show an answer to be on the topic; longer ones may go on.
    """

    name: str
    sentences: tuple[str, ...]
    words: tuple[str, ...]
    related: tuple[str, ...]

    @property
    def stems(self) -> tuple[str, ...]:
        """Words of which an answer on the topic has one; longer ones may go on."""
        return (self.name.removeprefix("the "), *self.words, *self.related)

    @property
    def root(self) -> str:
        """Letters with which every form of the name begins: ``librar``, ``bee``."""
        name = self.name.removeprefix("the ")
        return name[:-3] if len(name) > 7 else re.sub("(?<!s)s$", "", name)


def _topic(name: str, words: str, related: str, text: str) -> Topic:
    sentences = tuple(line.strip() for line in text.strip().splitlines())
    return Topic(name, sentences, tuple(words.split()), tuple(related.split()))


TOPICS = (
    _topic("tea", "leaves water cup warm morning honey",
        "teas teapot brew mug", """
        Tea is a drink that is made from dried leaves.
        You pour hot water on it and wait a few minutes.
        A cup of tea keeps your hands warm in winter.
        Many people drink tea every morning with their family.
        Some like it plain and others add honey or milk.
        Green tea and black tea come from the same plant."""),
    _topic("bicycles", "wheels ride road helmet pedals city",
        "bicycl bike cycl biking", """
        Bicycles have two wheels and need no fuel at all.
        You push the pedals with your feet and the chain does the rest.
        A ride to work is good for your heart and your mood.
        In a busy city bicycles are often faster than cars.
        Always wear a helmet when you are on the road.
        With a little oil old bicycles can run for many years."""),
    _topic("rain", "clouds drops river umbrella garden sky",
        "rains rainy rainfall storm shower weather", """
        Rain falls when the clouds can hold no more water.
        Small drops join in the sky until they are too heavy to float.
        The rain fills every river and lake on its way to the sea.
        A garden needs rain or the plants will dry out.
        Take an umbrella with you when the sky is dark.
        Many people love the sound of rain on a roof."""),
    _topic("cats", "sleep mice paws whiskers house purr",
        "cat kitten feline meow kitty", """
        Cats are small animals that live with people all over the world.
        They sleep for most of the day and hunt in the evening.
        Soft paws help cats to walk without a sound.
        They use their whiskers to feel the way in the dark.
        A happy cat will purr when you stroke its back.
        In many a house cats keep the mice away."""),
    _topic("bread", "flour oven yeast crust bakery butter",
        "loaf loaves dough bake baguette toast", """
        Bread is made from flour and water and a little salt.
        The yeast makes the dough rise until it is soft and light.
        In the hot oven the bread gets a brown crust.
        Fresh bread with butter is a simple and good meal.
        Each bakery in the village has a bread of its own.
        You can bake bread at home if you have some time."""),
    _topic("the moon", "night tides orbit craters light earth",
        "moon lunar", """
        The moon goes around the earth in about four weeks.
        It has no light of its own and shines by the sun.
        On a clear night you can see its craters with a small glass.
        The pull of the moon makes the tides of the sea.
        Its orbit is not quite round but close to it.
        People have walked on the moon and brought back stones."""),
    _topic("libraries", "books quiet shelves borrow readers card",
        "librar book", """
        Libraries lend books to everyone who lives nearby.
        You can borrow a book with a card that costs very little.
        Long shelves hold stories and maps and old newspapers.
        It is quiet in there so that readers can think.
        Many libraries also help people to look for work.
        Children love the corner with pictures and soft chairs."""),
    _topic("trains", "station tracks window ticket travel driver",
        "train rail", """
        Trains run on tracks of steel from town to town.
        You buy a ticket and wait for them at the station.
        From the window you can see fields and hills go by.
        To travel by train is calm and kind to the air.
        The driver follows the signals beside the line.
        At night some trains have beds for those who want to sleep."""),
    _topic("bees", "honey flowers hive queen garden wings",
        "bee pollen pollinat insect", """
        Bees fly from flower to flower to gather food.
        They carry pollen and so the flowers can make seeds.
        In the hive they turn the sweet juice into honey.
        The queen lays all the eggs and the others care for them.
        Their wings beat so fast that you can hear them.
        A garden with many plants is a good place for bees."""),
    _topic("swimming", "water pool lungs muscles summer breath",
        "swim swam", """
        Swimming is a sport that uses all of your muscles.
        The water holds you up and so your knees can rest.
        In summer a pool or a lake is the best place to be.
        You learn to hold your breath and to let it out slowly.
        Swimming makes your heart and your lungs strong.
        It is never too late to learn swimming from a good teacher."""),
    _topic("mountains", "snow peak path valley climb air",
        "mountain hill summit alps", """
        Mountains rise where the plates of the earth push together.
        The air is thin and cold near the peak.
        There is snow on high mountains even in the warm months.
        A path leads from the valley up to the first hut.
        To climb with a friend is safer than to go alone.
        From the top of the mountains you can see very far."""),
    _topic("music", "song piano voice rhythm dance ears",
        "musi melod tune sing instrument", """
        Music is made of sounds that are put in order with care.
        A good song can make you glad when you are sad.
        You can learn the piano or just use your own voice.
        The rhythm tells your feet when to move in a dance.
        Music brings people together at a feast or in a hall.
        Our ears can hear many notes at the same time."""),
    _topic("chess", "king board pawn moves think opponent",
        "checkmate queen bishop", """
        Chess is a game for two people on a board of squares.
        Each side wants to catch the king of the other.
        A pawn is small but it can become a queen.
        Good players think about many moves before they act.
        You learn most about chess when your opponent is strong.
        It is a game that is easy to start and hard to master."""),
    _topic("gardens", "soil seeds plants sun vegetables spring",
        "garden grow vegetable flower", """
        Gardens are places where people grow plants for food or joy.
        Good soil is dark and full of life.
        You put the seeds into the ground in spring.
        The plants need sun and water and a little patience.
        Fresh vegetables from gardens taste better than those from a shop.
        Work in gardens is a rest for the mind."""),
    _topic("the sea", "waves salt fish beach ships deep",
        "seaside ocean shore coast", """
        The sea covers most of the earth and is full of salt.
        The wind makes waves that roll up to the beach.
        Fish and whales and many plants live in the sea.
        In the deep it is dark and very cold.
        Ships carry goods over the sea to every land.
        Children like to look for shells where the sand is wet."""),
    _topic("sleep", "bed brain dreams dark rest hours",
        "asleep slept nap snooze dream", """
        Sleep is a rest for the body and for the brain.
        Most grown people need about eight hours of it.
        A cool and dark room helps you to sleep well.
        In our dreams we go through what we saw in the day.
        Go to bed at the same time on every day of the week.
        After good sleep it is easy to learn and to be kind."""),
)  # fmt: skip
