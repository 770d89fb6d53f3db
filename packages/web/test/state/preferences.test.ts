import { expect, test } from "vitest";
import { memoryStorage } from "../../src/browser/storage.ts";
import { createPreferences } from "../../src/state/preferences.ts";

test("preferences are there again in the next tab, and the language is the browser's until somebody chooses", () => {
  const storage = memoryStorage();
  const first = createPreferences(storage, "zh");
  expect(first.get()).toMatchObject({ language: "zh", theme: "system" });
  first.change({ theme: "dark", language: "en" });
  expect(createPreferences(storage, "zh").get()).toEqual({
    ...first.get(),
    theme: "dark",
    language: "en",
  });
});

test.each(["{", "null", '"dark"', '{"theme": "pink", "language": 7, "follow": "start"}'])(
  "what is kept and makes no sense (%s) does not count",
  (kept) => {
    const storage = memoryStorage();
    storage.setItem("deltawire.preferences", kept);
    expect(createPreferences(storage, "en").get()).toMatchObject({
      theme: "system",
      language: "en",
    });
  },
);

test("a browser that keeps nothing has them until the page is closed", () => {
  const full = {
    ...memoryStorage(),
    setItem: () => {
      throw new Error("the quota is exceeded");
    },
  };
  const preferences = createPreferences(full, "en");
  preferences.change({ theme: "dark" });
  expect(preferences.get().theme).toBe("dark");
});
