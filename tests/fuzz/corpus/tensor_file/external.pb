pj
locationw