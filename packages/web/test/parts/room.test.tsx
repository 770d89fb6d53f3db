import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { createHouse, HouseContext } from "../../src/parts/house.ts";
import { Room } from "../../src/parts/room.tsx";

const house = createHouse();

function drawn(given: { name?: string; isWanted?: boolean; isDrawnAtOnce?: boolean }): string {
  const { name = "room", isWanted = false, isDrawnAtOnce = false } = given;
  return renderToStaticMarkup(
    <HouseContext value={house}>
      <Room
        name={name}
        className="room"
        guess={() => 120}
        isWanted={isWanted}
        isDrawnAtOnce={isDrawnAtOnce}
      >
        {() => <p>furniture</p>}
      </Room>
    </HouseContext>,
  );
}

test("a room is empty and as high as is guessed until somebody is near", () => {
  expect(drawn({})).toBe('<div class="room" style="block-size:120px"></div>');
});

test("an empty room is as high as it is known to be, whatever is guessed", () => {
  house.heights.set("known", 77.5);
  expect(drawn({ name: "known" })).toContain("block-size:77.5px");
});

test.each([{ isWanted: true }, { isDrawnAtOnce: true }])(
  "a room that somebody wants, or that is new at the end, is drawn wherever it is: %o",
  (given) => {
    expect(drawn(given)).toBe('<div class="room"><p>furniture</p></div>');
  },
);
