import { expect, test } from "vitest";
import { formatDocumentTitle } from "../../src/approvals/approval-tray.tsx";

test("the document title starts with the number of pending approvals", () => {
  expect(formatDocumentTitle(0, "")).toBe("Deltawire");
  expect(formatDocumentTitle(0, "Weather")).toBe("Weather · Deltawire");
  expect(formatDocumentTitle(2, "Weather")).toBe("(2) Weather · Deltawire");
});
