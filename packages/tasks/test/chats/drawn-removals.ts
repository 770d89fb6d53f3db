import type { ChatEdit, RefusalCode } from "@deltawire/tasks/chats";
import { all, find, placeOf, type Drawing, type Drawn, type Place } from "./nested-lists.ts";

/** A delete, with the drawing as it was and as it then became. */
export interface Gone {
  edit: Extract<ChatEdit, { type: "delete_node" | "delete_version" }>;
  before: Drawing;
  after: Drawing;
}

/** Whether what is gone has no place any more, or is back. */
export function restoreRefusal(drawing: Drawing, gone: Gone): RefusalCode | undefined {
  const { edit, before } = gone;
  const was = find(before, edit.node_id);
  const ids = new Set(all(drawing).map(({ id }) => id));
  if (edit.type === "delete_version") {
    if (!ids.has(was.id)) return "cannot_restore";
    const versions = find(drawing, was.id).versions.map(({ id }) => id);
    const continues = versionOf(was, edit.version_id)?.continues;
    const isLost = continues !== undefined && !versions.includes(continues);
    return versions.includes(edit.version_id) || isLost ? "cannot_restore" : undefined;
  }
  const above = aboveIn(before, was);
  const isLost = above !== undefined && !ids.has(above);
  return isLost || removed(gone).some(({ id }) => ids.has(id)) ? "cannot_restore" : undefined;
}

export function drawBack(drawing: Drawing, gone: Gone): void {
  const { edit, before, after } = gone;
  const was = find(before, edit.node_id);
  if (edit.type === "delete_version") {
    const node = find(drawing, was.id);
    const version = versionOf(was, edit.version_id);
    if (version) node.versions.splice(was.versions.indexOf(version), 0, { ...version });
    const wasLeftSo = node.shown === find(after, was.id).shown;
    if (was.shown === edit.version_id && wasLeftSo) node.shown = edit.version_id;
    return;
  }
  const above = aboveIn(before, was);
  const place = above === undefined ? drawing : find(drawing, above);
  const placeThen = above === undefined ? after : find(after, above);
  const wasOn = placeOf(before, was).on === was.id;
  const wasLeftSo = String(shownIn(place)) === String(shownIn(placeThen));

  const node = structuredClone(was);
  const moved = edit.children === "keep" ? was.under.map(({ id }) => id) : [];
  const back = place.under.filter(({ id }) => moved.includes(id));
  back.sort((a, b) => moved.indexOf(a.id) - moved.indexOf(b.id));
  if (moved.length > 0) {
    node.under = back;
    const wanted = [place.on, was.on, back.at(-1)?.id];
    node.on = wanted.find((id) => back.some((one) => one.id === id));
  }
  place.under = place.under.filter((one) => !back.includes(one));
  place.under.splice(placeOf(before, was).under.indexOf(was), 0, node);
  const isThrough = back.some(({ id }) => id === place.on);
  if (place.on === undefined || isThrough || (wasOn && wasLeftSo)) place.on = node.id;
  for (const { id } of removed(gone).toSorted(byBookmark(before)))
    bookmarkBack(drawing, before, id);
}

/** Versions and separators, as the path shows them. */
export function shownIn({ under, on }: Place): string[] {
  const next = under.find(({ id }) => id === on);
  return next === undefined ? [] : [next.shown ?? next.id, ...shownIn(next)];
}

function removed({ edit, before }: Gone): Drawn[] {
  const node = find(before, edit.node_id);
  return edit.type === "delete_node" && edit.children === "keep" ? [node] : [node, ...all(node)];
}

function aboveIn(drawing: Drawing, node: Drawn): string | undefined {
  const place = placeOf(drawing, node);
  return place === drawing ? undefined : (place as Drawn).id;
}

function versionOf(node: Drawn, versionId: string): Drawn["versions"][number] | undefined {
  return node.versions.find(({ id }) => id === versionId);
}

function byBookmark({ bookmarks }: Drawing) {
  return (a: Drawn, b: Drawn): number => bookmarks.indexOf(a.id) - bookmarks.indexOf(b.id);
}

/** Behind the nearest one that it followed and that is still there. */
function bookmarkBack({ bookmarks }: Drawing, { bookmarks: then }: Drawing, id: string): void {
  const at = then.indexOf(id);
  if (at === -1) return;
  const earlier = then.slice(0, at).findLast((one) => bookmarks.includes(one));
  bookmarks.splice(earlier === undefined ? 0 : bookmarks.indexOf(earlier) + 1, 0, id);
}
