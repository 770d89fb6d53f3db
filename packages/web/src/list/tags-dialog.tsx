import { useCallback, useEffect, useState } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, Input } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { getListedChatTitle } from "../text/chat-title.ts";
import { useMessages } from "../messages/use-messages.ts";
import { chatListMessages } from "./messages.ts";

/** Longer than a tag, because several tags can be typed at once. */
const maxInputLength = 1000;

interface TagsDialogProps {
  chat: Pick<ChatSummary, "chat_id" | "title" | "opening_text" | "tags">;
  /** The tags of all chats. */
  allTags: readonly string[];
  onClose: () => void;
  onSaved?: (() => void) | undefined;
}

export function TagsDialog({ chat, allTags, onClose, onSaved }: TagsDialogProps) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const [tags, setTags] = useState(chat.tags);
  const [input, setInput] = useState("");
  const [isSaving, setSaving] = useState(false);
  const change = (next: readonly string[]) => {
    setTags(next);
    setInput("");
  };
  const addTyped = () => change(addTypedTags(tags, input));
  const addSuggested = (tag: string) => change(addSuggestedTag(tags, input, tag));
  const save = async () => {
    setSaving(true);
    const isSaved = await app.chatList.tag(chat.chat_id, addTypedTags(tags, input));
    setSaving(false);
    if (!isSaved) return;
    onSaved?.();
    onClose();
  };
  const suggestedTags = suggestTags(allTags, tags, input);
  return (
    <Dialog
      title={t.tagsTitle(getListedChatTitle(chat) || t.newChat)}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button kind="primary" busy={isSaving} onClick={() => void save()}>
            {t.save}
          </Button>
        </>
      }
    >
      <div className="list-tags-dialog">
        {tags.length === 0 ? (
          <p className="muted">{t.noTags}</p>
        ) : (
          <ul className="list-chips">
            {tags.map((tag) => (
              <li key={tag}>
                <button
                  type="button"
                  className="list-chip"
                  title={t.removeTag(tag)}
                  aria-label={t.removeTag(tag)}
                  onClick={() => setTags(tags.filter((other) => other !== tag))}
                >
                  <span dir="auto">{tag}</span>
                  <Icon name="close" small />
                </button>
              </li>
            ))}
          </ul>
        )}
        <form
          className="list-new-tag"
          onSubmit={(event) => {
            event.preventDefault();
            if (input.trim() !== "") addTyped();
            else if (!isSaving) void save();
          }}
        >
          <Field label={t.tag} hint={t.tagHint}>
            <Input
              data-autofocus
              dir="auto"
              maxLength={maxInputLength}
              autoComplete="off"
              value={input}
              onChange={(event) => setInput(event.currentTarget.value)}
            />
          </Field>
          {/* Not a submit button: a disabled one would keep Enter from submitting the form. */}
          <Button icon="add" disabled={input.trim() === ""} onClick={addTyped}>
            {t.addTag}
          </Button>
        </form>
        {suggestedTags.length > 0 && (
          <section>
            <h3 className="list-group-heading">{t.otherTags}</h3>
            <ul className="list-chips">
              {suggestedTags.map((tag) => (
                <li key={tag}>
                  <button type="button" className="list-chip" onClick={() => addSuggested(tag)}>
                    <Icon name="add" small />
                    <span dir="auto">{tag}</span>
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </Dialog>
  );
}

/** The gateway's limits. */
const maxTagLength = 100;
const maxTags = 100;

/** Adds a tag unless the list contains it already, ignoring case, or is full. */
export function addTag(tags: readonly string[], text: string): readonly string[] {
  const tag = text.trim().replaceAll(/\s+/g, " ").slice(0, maxTagLength).trimEnd();
  const isDuplicate = tags.some((other) => other.toLowerCase() === tag.toLowerCase());
  return tag === "" || isDuplicate || tags.length >= maxTags ? tags : [...tags, tag];
}

/** Adds the tags of a comma-separated input. */
export function addTypedTags(tags: readonly string[], input: string): readonly string[] {
  return input.split(commas).reduce(addTag, tags);
}

/** Adds the typed tags with the last one replaced by a suggested tag, which may contain a comma. */
export function addSuggestedTag(
  tags: readonly string[],
  input: string,
  suggestedTag: string,
): readonly string[] {
  const completeTags = input.split(commas).slice(0, -1);
  return addTag(completeTags.reduce(addTag, tags), suggestedTag);
}

/** Includes Chinese, Japanese and Arabic commas. */
const commas = /[,，、､،]/;

/** Returns other tags that contain the input after the last comma. Tags that start with it come first. */
export function suggestTags(
  allTags: readonly string[],
  tags: readonly string[],
  input: string,
  limit = 12,
): string[] {
  const query = (input.split(commas).at(-1) ?? "").trim().toLowerCase();
  const existing = new Set(tags.map((tag) => tag.toLowerCase()));
  const matches = allTags.filter(
    (tag) => !existing.has(tag.toLowerCase()) && tag.toLowerCase().includes(query),
  );
  const rank = (tag: string) => Number(!tag.toLowerCase().startsWith(query));
  return matches.toSorted((a, b) => rank(a) - rank(b)).slice(0, limit);
}

/** Returns the tags in use, and a function that reloads them, for example when the filter menu is about to open. */
export function useKnownTags(): {
  readonly knownTags: readonly string[];
  readonly reloadTags: () => void;
} {
  const { client } = useAppStore();
  const [knownTags, setKnownTags] = useState<readonly string[]>([]);
  const reloadTags = useCallback(() => {
    client.tags().then(
      ({ data }) => setKnownTags(data.map(({ tag }) => tag)),
      // Without tags there is no filter. The header shows that the connection is lost.
      () => {},
    );
  }, [client]);
  useEffect(reloadTags, [reloadTags]);
  return { knownTags, reloadTags };
}
