import { afterEach, expect, test, vi } from "vitest";
import { createFollower } from "../../src/chat/follow.ts";

/** As much of a browser as a list needs. */
class FakeScroller extends EventTarget {
  readonly style = { overflowAnchor: "" };
  scrollTop = 0;
  scrollHeight = 2000;
  clientHeight = 500;
}

let resized = (): void => undefined;

class FakeResizeObserver {
  constructor(callback: () => void) {
    resized = callback;
  }
  observe(): void {}
  disconnect(): void {}
}

afterEach(() => vi.unstubAllGlobals());

function attached() {
  vi.stubGlobal("ResizeObserver", FakeResizeObserver);
  vi.stubGlobal("document", { getSelection: () => null });
  const scroller = new FakeScroller();
  const follower = createFollower();
  const element = scroller as unknown as HTMLElement;
  const detach = follower.attach(element, {} as HTMLElement);
  return { scroller, follower, detach };
}

test("a list that follows its end is moved by nobody else: the browser does not anchor it", () => {
  const { scroller } = attached();
  expect(scroller).toMatchObject({ scrollTop: 1500, style: { overflowAnchor: "none" } });
  scroller.scrollHeight = 2300;
  resized();
  expect(scroller).toMatchObject({ scrollTop: 1800, style: { overflowAnchor: "none" } });
});

test("a list that a reader has left is anchored, until it is followed again", () => {
  const { scroller, follower } = attached();
  scroller.dispatchEvent(Object.assign(new Event("wheel"), { deltaY: -1 }));
  expect(scroller.style.overflowAnchor).toBe("");
  follower.begin("end");
  expect(scroller.style.overflowAnchor).toBe("none");
  follower.letGo();
  expect(scroller.style.overflowAnchor).toBe("");
  scroller.scrollTop = 700;
  scroller.dispatchEvent(new Event("scroll"));
  scroller.scrollTop = 1500;
  scroller.dispatchEvent(new Event("scroll"));
  expect(scroller.style.overflowAnchor).toBe("none");
});
