import { expect, test } from "vitest";
import { createMemoryStorage } from "../../src/browser/storage.ts";
import { createNewChatSettings, createPreferences } from "../../src/state/preferences.ts";

test("preferences are stored, and the language is that of the browser until one is chosen", () => {
  const storage = createMemoryStorage();
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
  "invalid stored preferences (%s) are ignored",
  (stored) => {
    const storage = createMemoryStorage();
    storage.setItem("deltawire.preferences", stored);
    expect(createPreferences(storage, "en").get()).toMatchObject({
      theme: "system",
      language: "en",
    });
  },
);

test("stored settings for new chats with former names and values are converted", () => {
  const storage = createMemoryStorage();
  storage.setItem("deltawire.new-chat", '{"results": "on error", "exact_time": true, "turns": 3}');
  expect(createNewChatSettings(storage).get()).toEqual({
    result_approval: "on_error",
    message_times: true,
    turns: 3,
  });
});

test("without storage, preferences last until the page is closed", () => {
  const full = {
    ...createMemoryStorage(),
    setItem: () => {
      throw new Error("the quota is exceeded");
    },
  };
  const preferences = createPreferences(full, "en");
  preferences.change({ theme: "dark" });
  expect(preferences.get().theme).toBe("dark");
});
