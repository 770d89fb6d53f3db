import { expect, test } from "vitest";
import { tabTitle } from "../../src/approvals/tray.tsx";

test("the tab says what it shows, and first how many decisions wait", () => {
  expect(tabTitle(0, "")).toBe("Deltawire");
  expect(tabTitle(0, "Weather")).toBe("Weather · Deltawire");
  expect(tabTitle(2, "Weather")).toBe("(2) Weather · Deltawire");
});
