console.log("tiny")
