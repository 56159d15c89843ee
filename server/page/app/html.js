// The template tag of all screens: html`<p>${text}</p>` is an element of Preact.
import { default as htm } from "./vendored/htm.mjs";
import { h } from "./vendored/preact.mjs";

export const html = htm.bind(h);
