/*
 * Answers stored by the first version contain notices and errors in their former wording. They are rewritten to the current
 * wording, so that the page can translate them.
 */

/** Applied in this order. */
export const formerNoticeReplacements: readonly (readonly [former: RegExp, current: string])[] = [
  [
    /^Left out: the reasoning effort (.+?)\. This model knows /,
    "Not sent: reasoning effort $1. This model supports ",
  ],
  [/^Left out: /, "Not sent: "],
  [/ is not taken by (.+): left out$/, " is not supported by $1 and was not sent"],
  [/ are not taken by (.+): left out$/, " are not supported by $1 and were not sent"],
  [/^The (.+) was left out: /, "The $1 was not sent: "],
  [
    / is sent as it is: nothing in a picture can be masked\.$/,
    " is sent unmasked: images cannot be masked.",
  ],
  [
    / is sent as it is: nothing in a sound can be masked\.$/,
    " is sent unmasked: audio files cannot be masked.",
  ],
  [/ was cut: only the first /, " was truncated: only the first "],
  [/^Of the (.+) only the text is sent, /, "Only the text of the $1 is sent, "],
  [
    /^there is no skill "(.+)" any more: it was left out$/,
    'the skill "$1" no longer exists and was ignored',
  ],
  [
    /^(.+) cannot call tools: (.+) (?:was|were) left out$/,
    "$1 does not support tools; ignored tool groups: $2",
  ],
  [/^the limit of (\S+) (round|token|cost)s? is reached: /, "the $2 limit of $1 is reached: "],
  [
    /( limit of \S+) is reached: the model answers without more tool calls$/,
    "$1 was reached; the model answers without further tool calls",
  ],
  [
    /^the upstream closed the stream before it had finished the reply$/,
    "the upstream closed the stream before the reply was finished",
  ],
  [
    /^the connection to the upstream broke before it had finished the reply$/,
    "the connection to the upstream was lost before the reply was finished",
  ],
  [
    /^the upstream sent nothing for too long and had not finished the reply$/,
    "the upstream sent nothing for too long before the reply was finished",
  ],
  [/^asked 1 time\b/, "1 attempt"],
  [/^asked (\d+) times\b/, "$1 attempts"],
  [/^(\d+ attempts?), the last time ([^;]+)/, "$1 (last upstream: $2)"],
  [/\bpicture(?= "| from earlier| was not sent| is sent unmasked| is sent, )/, "image"],
  [/\bsound(?= "| was not sent| is sent unmasked| is sent, )/, "audio file"],
  [
    /Only media options are for a model of this kind\.$/,
    "This kind of model only supports media options.",
  ],
  [
    /This model makes neither pictures nor sound\.$/,
    "This model does not generate images or audio.",
  ],
  [/it is not stored any more\.$/, "it is no longer stored."],
  [/only files that are stored here can be read\.$/, "only uploaded files can be read."],
  [/as this model does not take it as it is\.$/, "because this model does not accept PDF files."],
  [
    /it is neither text in UTF-8 nor a picture, a sound or a PDF\.$/,
    "it is not UTF-8 text, an image, audio or a PDF.",
  ],
  [
    /this model (?:draws what the words say|reads the words aloud) and takes nothing else\.$/,
    "this model only accepts text.",
  ],
  [
    /this model takes words and pictures and nothing else\.$/,
    "this model only accepts text and images.",
  ],
  [
    /this model takes a sound and words about it and nothing else\.$/,
    "this model only accepts audio and text.",
  ],
  [/this model does not see pictures\.$/, "this model does not support images."],
  [/this model does not hear\.$/, "this model does not support audio."],
  [/only sounds that are stored here can be sent\.$/, "only uploaded audio files can be sent."],
  [/its address has a private value in it\.$/, "its URL contains a private value."],
  [/it is no PDF, or broken\.$/, "it is not a valid PDF."],
  [/it takes too long to read\.$/, "reading it takes too long."],
  [/it takes too much memory to read\.$/, "reading it takes too much memory."],
  [
    /it has no text; perhaps its pages are pictures\.$/,
    "it contains no text (its pages may be scanned images).",
  ],
  [/it has more than (\d+) MB\.$/, "it is larger than $1 MB."],
  [/models see (.+), and not (.+)\.$/, "only $1 images are supported, got $2."],
  [/models hear (.+), and not (.+)\.$/, "only $1 audio is supported, got $2."],
];

/** Returns a notice or an error in its current wording. Current ones are returned unchanged. */
export function updateFormerNotice(notice: string): string {
  let updated = notice;
  for (const [former, current] of formerNoticeReplacements)
    updated = updated.replace(former, current);
  return updated;
}
