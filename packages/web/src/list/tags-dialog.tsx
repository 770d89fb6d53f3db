import { useCallback, useEffect, useState } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, Input } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { nameInList } from "../texts/name-of-chat.ts";
import { useWords } from "../words/use-words.ts";
import { listWords } from "./words.ts";

/** Some tags at once. */
const mostTyped = 1000;

interface TagsDialogProps {
  chat: Pick<ChatSummary, "chat_id" | "title" | "first_words" | "tags">;
  /** Those of all chats. */
  known: readonly string[];
  onClose: () => void;
  onSaved?: (() => void) | undefined;
}

export function TagsDialog({ chat, known, onClose, onSaved }: TagsDialogProps) {
  const page = usePage();
  const words = useWords(listWords);
  const [tags, setTags] = useState(chat.tags);
  const [typed, setTyped] = useState("");
  const [isSaving, setSaving] = useState(false);
  const change = (next: readonly string[]) => {
    setTags(next);
    setTyped("");
  };
  const addTyped = () => change(withTypedTags(tags, typed));
  const addSuggested = (tag: string) => change(withSuggestedTag(tags, typed, tag));
  const save = async () => {
    setSaving(true);
    const isSaved = await page.list.tag(chat.chat_id, withTypedTags(tags, typed));
    setSaving(false);
    if (!isSaved) return;
    onSaved?.();
    onClose();
  };
  const suggested = suggestedTags(known, tags, typed);
  return (
    <Dialog
      title={words.tagsOf(nameInList(chat) || words.newChat)}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button kind="primary" busy={isSaving} onClick={() => void save()}>
            {words.save}
          </Button>
        </>
      }
    >
      <div className="list-tagging">
        {tags.length === 0 ? (
          <p className="quiet">{words.noTags}</p>
        ) : (
          <ul className="list-chips">
            {tags.map((tag) => (
              <li key={tag}>
                <button
                  type="button"
                  className="list-chip"
                  title={words.removeTag(tag)}
                  aria-label={words.removeTag(tag)}
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
            if (typed.trim() !== "") addTyped();
            else if (!isSaving) void save();
          }}
        >
          <Field label={words.tag} hint={words.tagHint}>
            <Input
              data-first
              dir="auto"
              maxLength={mostTyped}
              autoComplete="off"
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
          </Field>
          {/* It does not send the form: disabled, it would keep Enter from doing so. */}
          <Button icon="add" disabled={typed.trim() === ""} onClick={addTyped}>
            {words.addTag}
          </Button>
        </form>
        {suggested.length > 0 && (
          <section>
            <h3 className="list-day">{words.usedBefore}</h3>
            <ul className="list-chips">
              {suggested.map((tag) => (
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

/** As the gateway takes them. */
const mostOfTag = 100;
const mostTags = 100;

/** A list with one more tag, unless it has it already, however it is written. */
export function withNewTag(tags: readonly string[], text: string): readonly string[] {
  const tag = text.trim().replaceAll(/\s+/g, " ").slice(0, mostOfTag).trimEnd();
  const has = tags.some((other) => other.toLowerCase() === tag.toLowerCase());
  return tag === "" || has || tags.length >= mostTags ? tags : [...tags, tag];
}

/** A list with all tags that were typed, with commas between them. */
export function withTypedTags(tags: readonly string[], typed: string): readonly string[] {
  return typed.split(commas).reduce(withNewTag, tags);
}

/** A list with a suggested tag, which stands for what is typed after the last comma. It may have a comma itself. */
export function withSuggestedTag(
  tags: readonly string[],
  typed: string,
  suggested: string,
): readonly string[] {
  const before = typed.split(commas).slice(0, -1);
  return withNewTag(before.reduce(withNewTag, tags), suggested);
}

/** Those of Chinese, Japanese and Arabic too. */
const commas = /[,，、､،]/;

/** Tags of other chats that this one may get, those first that begin with what is typed after the last comma. */
export function suggestedTags(
  all: readonly string[],
  tags: readonly string[],
  typed: string,
  most = 12,
): string[] {
  const start = (typed.split(commas).at(-1) ?? "").trim().toLowerCase();
  const own = new Set(tags.map((tag) => tag.toLowerCase()));
  const fitting = all.filter(
    (tag) => !own.has(tag.toLowerCase()) && tag.toLowerCase().includes(start),
  );
  const begins = (tag: string) => Number(!tag.toLowerCase().startsWith(start));
  return fitting.toSorted((one, other) => begins(one) - begins(other)).slice(0, most);
}

/** The tags in use. They may be a moment old: they are read when somebody is about to look at them. */
export function useTags(): { readonly all: readonly string[]; readonly read: () => void } {
  const { client } = usePage();
  const [all, setAll] = useState<readonly string[]>([]);
  const read = useCallback(() => {
    client.tags().then(
      ({ data }) => setAll(data.map(({ tag }) => tag)),
      // Without them there is no filter; that the gateway is away is said elsewhere.
      () => {},
    );
  }, [client]);
  useEffect(read, [read]);
  return { all, read };
}
