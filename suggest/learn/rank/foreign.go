package rank

import "strings"

// foreignRequests returns requests that hardly any catalog serves. If a catalog has tools for some of them, the others
// still are examples of requests that no tool fits.
func foreignRequests() []string { return strings.Split(strings.TrimSpace(foreignText), "\n") }

const foreignText = `
make me a sandwich with cheese and pickles
water the plants on the balcony
iron my shirts for the wedding
walk the dog around the lake
knit a scarf from red wool
repair the leaking kitchen tap
change the tyres of my bicycle
tell my grandmother a bedtime story
paint the garden fence green
feed the neighbour's cat while they are away
tune the piano in the living room
cut my hair short at the sides
bake a chocolate cake for twelve guests
carry the sofa up to the third floor
teach me how to juggle four balls
polish the silver spoons
sharpen the lawn mower blades
plant tulips along the driveway
write a haiku about autumn leaves
explain the plot of a famous tragedy
what is the meaning of life
who would win, a lion or a bear
how many moons does Jupiter have
prove that the square root of two is irrational
sing a lullaby in Welsh
recommend a novel about the sea
compose a fugue in four voices
which wine goes with roasted duck
translate this poem into Latin verse
solve the crossword, seven letters, river in Siberia
predict next week's lottery numbers
help me quit smoking
diagnose the rash on my arm
settle the quarrel with my brother
decide whether I should marry him
meditate with me for ten minutes
cheer me up after a bad day
pretend to be a pirate
guess the animal I am thinking of
count the stars above the desert
train a parrot to speak
build a treehouse in the oak
shovel the snow from the pavement
wash the windows of the greenhouse
catch the mouse in the cellar
assemble the wardrobe from the box
sew a button on my coat
warm up the baby's bottle
fold the laundry and put it away
harvest the ripe tomatoes
milk the goats before sunrise
groom the horse for the parade
refill the bird feeder
sweep the chimney before winter
glue the broken vase together
untangle the fishing line
light the campfire
row us across the river
drive the children to school
land the aeroplane on the short runway
mix concrete for the garage floor
weld the cracked exhaust pipe
tile the bathroom wall
vaccinate the calves
shear the sheep in the upper field
deliver the pizza to the fifth floor
measure my blood pressure
massage my stiff shoulders
braid her hair for the dance
blow up the balloons for the party
referee the football match on Sunday
conduct the choir on Christmas Eve
judge the pumpkin contest
hide the eggs in the garden
train me for the marathon
choose a name for the baby
interpret last night's dream
forecast the harvest from the old almanac
excavate the Roman villa
catalogue the butterflies of the valley
restore the fresco in the chapel
carve a chess set from walnut
brew a dark beer with coriander
distil lavender oil
pickle the cucumbers
smoke the trout over beech wood
`
