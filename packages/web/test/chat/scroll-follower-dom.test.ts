import { afterEach, expect, test, vi } from "vitest";
import { createScrollFollower } from "../../src/chat/scroll-follower.ts";

/** Fakes the part of an element that the follower uses. */
class FakeScroller extends EventTarget {
  readonly style = { overflowAnchor: "" };
  scrollTop = 0;
  scrollHeight = 2000;
  clientHeight = 500;
}

let triggerResize = (): void => undefined;

class FakeResizeObserver {
  constructor(callback: () => void) {
    triggerResize = callback;
  }
  observe(): void {}
  disconnect(): void {}
}

afterEach(() => vi.unstubAllGlobals());

function createAttachedFollower() {
  vi.stubGlobal("ResizeObserver", FakeResizeObserver);
  vi.stubGlobal("document", { getSelection: () => null });
  const scroller = new FakeScroller();
  const follower = createScrollFollower();
  const element = scroller as unknown as HTMLElement;
  const detach = follower.attach(element, {} as HTMLElement);
  return { scroller, follower, detach };
}

test("the browser's scroll anchoring is off while the list follows its end", () => {
  const { scroller } = createAttachedFollower();
  expect(scroller).toMatchObject({ scrollTop: 1500, style: { overflowAnchor: "none" } });
  scroller.scrollHeight = 2300;
  triggerResize();
  expect(scroller).toMatchObject({ scrollTop: 1800, style: { overflowAnchor: "none" } });
});

test("the browser's scroll anchoring is on after the user scrolls away, until the list follows its end again", () => {
  const { scroller, follower } = createAttachedFollower();
  scroller.dispatchEvent(Object.assign(new Event("wheel"), { deltaY: -1 }));
  expect(scroller.style.overflowAnchor).toBe("");
  follower.follow("end");
  expect(scroller.style.overflowAnchor).toBe("none");
  follower.detach();
  expect(scroller.style.overflowAnchor).toBe("");
  scroller.scrollTop = 700;
  scroller.dispatchEvent(new Event("scroll"));
  scroller.scrollTop = 1500;
  scroller.dispatchEvent(new Event("scroll"));
  expect(scroller.style.overflowAnchor).toBe("none");
});
